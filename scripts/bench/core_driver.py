"""One node's core without sockets, for benchmarks: frames in, answers out, time as told.

Called by the benchmarks that measure the core itself. Frames are prepared outside of what is
measured; answers are taken from the outbox, as the shell does.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from mockbroker.cluster.cluster import Cluster
from mockbroker.metadata.changes import PartitionState, TopicCreated
from mockbroker.replica.append_entry import AppendEntry
from mockbroker_protocol.fetch_codec import encode_fetch_request
from mockbroker_protocol.headers import encode_request_header
from mockbroker_protocol.messages.fetch import (
    FetchRequest,
    FetchRequestPartition,
    FetchRequestTopic,
)
from mockbroker_protocol.records.batch import build_batch
from mockbroker_protocol.records.record_codec import Record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mockbroker.replica.partition import Partition

FETCH = 1
VERSION = 17
MAX_BYTES = 50 << 20
RECORD = build_batch([Record(0, 1_700_000_000_000, None, b"v" * 100, [])])


def _nothing() -> None:
    """Called when an append is done; the caller waits for nothing."""


class CoreDriver:
    """A cluster of one node on virtual time."""

    def __init__(self, config: Mapping[str, str] | None = None) -> None:
        self.cluster = Cluster(config or {}, {}, substream=Random, epoch_ms=1_700_000_000_000)
        self.broker = self.cluster.brokers[0]
        self.services = self.broker.services
        self.now_ms = 1.0

    def create_topic(self, name: str, partitions: int) -> bytes:
        """Make a topic of any size; returns its id."""
        node = self.services.broker_id
        topic_id = name.encode().ljust(16, b"\1")
        states = [PartitionState(node, [node], [node]) for _ in range(partitions)]
        self.cluster.metadata.apply(TopicCreated(name, topic_id, states, {}))
        return topic_id

    def partition(self, topic: str, index: int) -> Partition:
        found = self.services.replicas.partition(topic, index)
        assert found is not None
        return found

    def append(self, topic: str, index: int) -> int:
        """Append one small record as a produce would; returns the log's end."""
        entry = AppendEntry(index, self.partition(topic, index), RECORD)
        self.services.replicas.append_records(1000, 1, [entry], _nothing)
        assert not entry.error
        self.services.replicas.drain()
        return entry.last_offset + 1

    def connect(self, connection_id: int) -> None:
        self.broker.connect(
            connection_id, "/127.0.0.1", self.now_ms, local_address=("127.0.0.1", 9092)
        )

    def send(self, connection_id: int, frame: bytes) -> None:
        self.broker.receive(connection_id, frame, self.now_ms)

    def answers(self) -> dict[int, bytes]:
        """What was answered since the last call, by connection."""
        outbox = self.broker.take_outbox()
        return {outgoing.connection_id: b"".join(outgoing.chunks) for outgoing in outbox}


def fetch_frame(
    topics: Mapping[bytes, Sequence[tuple[int, int]]],
    *,
    session_id: int = 0,
    epoch: int = -1,
    max_wait_ms: int = 0,
) -> bytes:
    """A consumer's Fetch by topic id, whole with its length: (partition, offset) by topic."""
    request = FetchRequest(
        replica_id=-1,
        max_wait_ms=max_wait_ms,
        min_bytes=1,
        max_bytes=MAX_BYTES,
        session_id=session_id,
        session_epoch=epoch,
        topics=[
            FetchRequestTopic(
                topic_id=topic_id,
                partitions=[
                    FetchRequestPartition(
                        partition=index, fetch_offset=offset, partition_max_bytes=1 << 20
                    )
                    for index, offset in partitions
                ],
            )
            for topic_id, partitions in topics.items()
        ],
    )
    header = encode_request_header(FETCH, VERSION, 1, "bench")
    body = bytes(header) + bytes(encode_fetch_request(request, VERSION))
    return len(body).to_bytes(4, "big") + body
