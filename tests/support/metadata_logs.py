"""A core with a controller's listener, and its metadata log as objects."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from mockbroker.metadata.names import CLUSTER_METADATA_TOPIC_ID
from mockbroker.quorum.record_codec import FRAME_VERSION
from mockbroker.quorum.registrations import ListenerAddress
from mockbroker_protocol.messages.fetch import (
    FetchRequest,
    FetchRequestPartition,
    FetchRequestTopic,
    FetchResponsePartition,
    ReplicaState,
)
from mockbroker_protocol.messages.metadata_records import METADATA_RECORDS
from mockbroker_protocol.messages.raft_records import CONTROL_RECORDS
from mockbroker_protocol.plan import decode
from mockbroker_protocol.primitives import read_uvarint
from mockbroker_protocol.records.batch import iterate_batches, iterate_records
from tests.support.core import Core, CoreClient

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mockbroker.node.broker import Broker
    from mockbroker.quorum.metadata_log import MetadataLog
    from mockbroker.quorum.quorum import MetadataQuorum
    from mockbroker_protocol.primitives import Buffer

CONTROLLER = ListenerAddress("CONTROLLER", "controller.test", 9093)
BROKER = ListenerAddress("PLAINTEXT", "broker.test", 9092)
QUIET = {"metadata.max.idle.interval.ms": "0"}


class QuorumCore(Core):
    """A node that is broker and controller; no no-op records unless `config` wants them."""

    def __init__(
        self,
        topics: Mapping[str, int | None] | None = None,
        config: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(topics=topics, config={**QUIET, **(config or {})}, outsiders=True)
        self.quorum: MetadataQuorum = self.act(
            lambda: self.cluster.start_quorum(CONTROLLER, {1: [BROKER]})
        )

    def act(self, action: Any) -> Any:
        """Do something to the core as one step."""
        result = super().act(action)
        self.deliver()
        return result

    def listening(self, listener: str) -> Broker:
        if listener != CONTROLLER.name:
            return self.broker
        return self.cluster.cores[-1]

    def observer(self) -> CoreClient:
        """A connection to the controller's listener."""
        return self.client(listener=CONTROLLER.name)


def raft_fetch(
    offset: int,
    epoch: int = 1,
    last_epoch: int = 1,
    *,
    wait: int = 0,
    max_bytes: int = 1 << 20,
    replica_id: int = -1,
    cluster_id: str | None = None,
    **values: Any,
) -> FetchRequest:
    """A fetch of the metadata log as a raft replica sends it, from version 15 on."""
    asked = FetchRequestPartition(0, epoch, offset, last_epoch, **values)
    topic = FetchRequestTopic(topic_id=CLUSTER_METADATA_TOPIC_ID, partitions=[asked])
    return FetchRequest(
        max_wait_ms=wait,
        max_bytes=max_bytes,
        topics=[topic],
        cluster_id=cluster_id,
        replica_state=ReplicaState(replica_id, -1) if replica_id >= 0 else None,
    )


def records_of(data: FetchResponsePartition) -> bytes:
    """The records of an answer in one piece."""
    chunks = data.records if isinstance(data.records, list) else [data.records or b""]
    return b"".join(chunks)


def decoded(data: Buffer) -> list[object]:
    """The records in some batches, control records too."""
    found: list[object] = []
    for pos, header in iterate_batches(data):
        for record in iterate_records(data, pos, header):
            assert record.value is not None
            if header.is_control:
                found.append(decode_control_record(record.key or b"", record.value))
            else:
                found.append(decode_metadata_record(record.value)[0])
    return found


def records_in(log: MetadataLog, offset: int = 0) -> list[object]:
    """The records of a log from the batch with `offset` on."""
    return decoded(b"".join(log.read_uncommitted(offset, 1 << 30)))


def decode_metadata_record(value: Buffer) -> tuple[object, int]:
    """A metadata record and its version (Kafka: AbstractApiMessageSerde.read)."""
    frame_version, pos = read_uvarint(value, 0)
    assert frame_version == FRAME_VERSION
    key, pos = read_uvarint(value, pos)
    version, pos = read_uvarint(value, pos)
    record: object
    record, end = decode(METADATA_RECORDS[key], version, value, pos)
    assert end == len(value)
    return record, version


def decode_control_record(key: Buffer, value: Buffer) -> object:
    """A control record of a raft log (Kafka: ControlRecordUtils)."""
    key_version, kind = struct.unpack(">hh", key)
    assert key_version == 0
    (version,) = struct.unpack_from(">h", value)
    record: object
    record, end = decode(CONTROL_RECORDS[kind], version, value, 0)
    assert end == len(value)
    return record
