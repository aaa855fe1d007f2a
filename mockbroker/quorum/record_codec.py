"""Records of the metadata log between objects and bytes.

`metadata_log` writes with this; tests and tools read with it. A metadata record is the value of an
ordinary record, a control record has a key as well (see
`mockbroker_protocol.messages.metadata_records` and `raft_records`). Bad bytes raise ProtocolError.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Final

from mockbroker_protocol.errors import ProtocolError
from mockbroker_protocol.messages.metadata_records import (
    METADATA_RECORDS,
    BrokerRegistrationChangeRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
)
from mockbroker_protocol.messages.raft_records import CONTROL_RECORDS
from mockbroker_protocol.plan import decode, encode
from mockbroker_protocol.primitives import read_uvarint, write_uvarint
from mockbroker_protocol.schema import schema_of

if TYPE_CHECKING:
    from mockbroker_protocol.primitives import Buffer

FRAME_VERSION: Final = 1
_CONTROL_KEY: Final = Struct(">hh")
_INT16: Final = Struct(">h")
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


def decode_metadata_record(value: Buffer) -> tuple[object, int]:
    """A metadata record and its version (Kafka: AbstractApiMessageSerde.read)."""
    frame_version, pos = read_uvarint(value, 0)
    if frame_version != FRAME_VERSION:
        raise ProtocolError(f"metadata record in a frame of version {frame_version}")
    key, pos = read_uvarint(value, pos)
    version, pos = read_uvarint(value, pos)
    cls = METADATA_RECORDS.get(key)
    if cls is None or version > schema_of(cls).max_version:
        raise ProtocolError(f"metadata record of type {key} and version {version}")
    record: object
    record, end = decode(cls, version, value, pos)
    if end != len(value):
        raise ProtocolError(f"{len(value) - end} bytes behind a {cls.__name__}")
    return record, version


def encode_control_record(record: object) -> tuple[bytes, bytes]:
    """Key and value of a control record; its `version` field is what it is written in."""
    version = written_version(type(record))
    key = _CONTROL_KEY.pack(0, _CONTROL_TYPES[type(record)])
    return key, b"".join(encode(record, version))


def decode_control_record(key: Buffer, value: Buffer) -> object:
    """A control record of a raft log (Kafka: ControlRecordUtils)."""
    if len(key) < _CONTROL_KEY.size or len(value) < _INT16.size:
        raise ProtocolError("the control record is cut")
    _, kind = _CONTROL_KEY.unpack_from(key)
    cls = CONTROL_RECORDS.get(kind)
    (version,) = _INT16.unpack_from(value)
    if cls is None or not 0 <= version <= schema_of(cls).max_version:
        raise ProtocolError(f"control record of type {kind} and version {version}")
    record: object
    record, _ = decode(cls, version, value, 0)
    return record
