"""The bytes of the records of the metadata log, which `metadata_log` writes.

A metadata record is the value of an ordinary record, a control record has a key as well (see
`mockbroker_protocol.messages.metadata_records` and `raft_records`).
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from mockbroker_protocol.messages.metadata_records import (
    METADATA_RECORDS,
    BrokerRegistrationChangeRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
)
from mockbroker_protocol.messages.raft_records import CONTROL_RECORDS
from mockbroker_protocol.plan import encode
from mockbroker_protocol.primitives import write_uvarint

FRAME_VERSION: Final = 1
_CONTROL_KEY: Final = Struct(">hh")
_KEYS: Final = {cls: key for key, cls in METADATA_RECORDS.items()}
_CONTROL_TYPES: Final = {cls: kind for kind, cls in CONTROL_RECORDS.items()}

# What metadata.version 27 (4.1-IV1) writes; all others are written in version 0.
# Kafka: MetadataVersion.registerBrokerRecordVersion, partitionRecordVersion and so on. Control
# records stay at 0 too: Kafka reads a LeaderChangeMessage as version 0 whatever it says of itself.
_VERSIONS: Final[dict[type, int]] = {
    RegisterBrokerRecord: 3,
    BrokerRegistrationChangeRecord: 1,
    PartitionRecord: 2,
    PartitionChangeRecord: 2,
}


def written_version(cls: type) -> int:
    """The version in which records of a class are written."""
    return _VERSIONS.get(cls, 0)


def encode_metadata_record(record: object) -> bytes:
    """The value of a metadata record in the log."""
    version = written_version(type(record))
    head = (
        write_uvarint(FRAME_VERSION),
        write_uvarint(_KEYS[type(record)]),
        write_uvarint(version),
    )
    return b"".join((*head, *encode(record, version)))


def encode_control_record(record: object) -> tuple[bytes, bytes]:
    """Key and value of a control record; its `version` field is what it is written in."""
    version = written_version(type(record))
    key = _CONTROL_KEY.pack(0, _CONTROL_TYPES[type(record)])
    return key, b"".join(encode(record, version))
