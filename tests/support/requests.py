"""A Fetch and a Produce of one partition, for tests of the way that a request goes."""

from __future__ import annotations

import struct

from mockbroker_protocol.messages.fetch import (
    FetchRequest,
    FetchRequestPartition,
    FetchRequestTopic,
)
from mockbroker_protocol.messages.produce import (
    ProduceRequest,
    ProduceRequestPartition,
    ProduceRequestTopic,
)
from mockbroker_protocol.records.batch import build_batch
from mockbroker_protocol.records.record_codec import Record


def framed(frame: bytes) -> bytes:
    return struct.pack(">i", len(frame)) + frame


def fetch(topic: str, offset: int = 0, *, max_wait_ms: int = 500) -> FetchRequest:
    part = FetchRequestPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
    return FetchRequest(
        replica_id=-1,
        max_wait_ms=max_wait_ms,
        min_bytes=1,
        topics=[FetchRequestTopic(topic=topic, partitions=[part])],
    )


def produce(topic: str, *, acks: int = 1, index: int = 0) -> ProduceRequest:
    batch = build_batch([Record(0, 1_700_000_000_000, b"k", b"v")])
    part = ProduceRequestPartition(index=index, records=batch)
    return ProduceRequest(
        acks=acks,
        timeout_ms=1000,
        topic_data=[ProduceRequestTopic(name=topic, partition_data=[part])],
    )
