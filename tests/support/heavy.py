"""Single frames that ask for more work than their size shows: none of them may hold up a neighbour.

Each builder takes a count and returns one frame with its length before it; `FULL` is what
`scripts/bench/stalls` sends, up to `socket.request.max.bytes`. They need topics: `blk` of a hundred
partitions, `cmp` and `gz`.
"""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING, Final

from mockbroker_protocol.headers import encode_request_header
from mockbroker_protocol.messages.transaction_admin import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from mockbroker_protocol.messages.transactions import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from mockbroker_protocol.plan import encode
from mockbroker_protocol.records.crc import crc32c
from mockbroker_protocol.records.record_codec import varint

if TYPE_CHECKING:
    from collections.abc import Callable

TOPIC: Final = "blk"
PARTITIONS: Final = 100
COMPACTED: Final = "cmp"
"""A topic of as many, with cleanup.policy=compact."""
RECODED: Final = "gz"
"""A topic of one partition, with compression.type=gzip."""


def request(key: int, version: int, body: bytes, *, flexible: bool = False) -> bytes:
    """A frame with its header."""
    head = struct.pack(">hhi", key, version, 7) + text("hostile") + (b"\0" if flexible else b"")
    return struct.pack(">i", len(head) + len(body)) + head + body


def text(value: str) -> bytes:
    """A string of a version that is not flexible."""
    raw = value.encode()
    return struct.pack(">h", len(raw)) + raw


def uvarint(value: int) -> bytes:
    """An unsigned varint."""
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def int32(*values: int) -> bytes:
    """Some int32."""
    return struct.pack(f">{len(values)}i", *values)


# -- batches ------------------------------------------------------------------------------------


def batch(records: bytes, count: int, codec: int = 0, newest: int = 0) -> bytes:
    """A batch that says it has `count` records, and of which time the newest is."""
    tail = (
        struct.pack(">HiqqqhIi", codec, count - 1, 0, newest, -1, -1, 0xFFFFFFFF, count) + records
    )
    inner = struct.pack(">ibI", 0, 2, crc32c(tail)) + tail
    return struct.pack(">qi", 0, len(inner)) + inner


def produce(records: bytes, partitions: int = 1, topic: str = TOPIC, version: int = 7) -> bytes:
    """The same records for each of some partitions."""
    one = b"".join(int32(index, len(records)) + records for index in range(partitions))
    head = struct.pack(">hhi", -1, -1, 30000) + int32(1) + text(topic) + int32(partitions)
    return request(0, version, head + one)


def tiny_records(count: int, key: bytes = b"\1") -> bytes:
    """Records of a few bytes each; the key with its length, by default there is none."""
    out = bytearray()
    for index in range(count):
        body = b"\0\0" + varint(index) + key + b"\1\0"
        out += varint(len(body)) + body
    return bytes(out)


def timed_records(count: int) -> bytes:
    """As `tiny_records`, but the last one is a millisecond later than the others."""
    last = b"\0\2" + varint(count - 1) + b"\1\1\0"
    return tiny_records(count - 1) + varint(len(last)) + last


def one_record(size: int) -> bytes:
    """One whole record with a value of zeros."""
    body = b"\0\0\0\1" + varint(size) + b"\0" * size + b"\0"
    return varint(len(body)) + body


def zstd(data: bytes) -> bytes:
    from cramjam import zstd as native

    return bytes(native.compress(data))


def lz4(data: bytes) -> bytes:
    from mockbroker_protocol.records.lz4 import compress_frame

    return compress_frame(data)


def snappy(data: bytes) -> bytes:
    from cramjam import snappy as native

    return bytes(native.compress_raw(data))


def gzip(data: bytes) -> bytes:
    return zlib.compress(data, 6, 31)


def zeros(count: int) -> bytes:
    return b"\0" * count


# -- requests -----------------------------------------------------------------------------------


def metadata(count: int) -> bytes:
    return request(3, 4, int32(count) + text("q") * count + b"\0")


def metadata_new_topics(count: int) -> bytes:
    names = b"".join(text(f"u{index:07d}") for index in range(count))
    return request(3, 4, int32(count) + names + b"\1")


def metadata_unknown_names(count: int) -> bytes:
    names = b"".join(text(f"u{index:07d}") for index in range(count))
    return request(3, 4, int32(count) + names + b"\0")


def create_topics(count: int) -> bytes:
    topics = b"".join(
        text(f"big{index}") + struct.pack(">ihii", 1, 1, 0, 0) for index in range(count)
    )
    return request(19, 2, int32(count) + topics + struct.pack(">ib", 5000, 0))


def delete_topics(count: int, name: str = "big{}") -> bytes:
    names = b"".join(text(name.format(index)) for index in range(count))
    return request(20, 1, int32(count) + names + int32(5000))


def create_topic_of(partitions: int) -> bytes:
    topic = text(f"wide{partitions}") + struct.pack(">ihii", partitions, 1, 0, 0)
    return request(19, 2, int32(1) + topic + struct.pack(">ib", 5000, 0))


def create_partitions(count: int) -> bytes:
    body = int32(1) + text(TOPIC) + int32(count, -1) + struct.pack(">ib", 5000, 0)
    return request(37, 0, body)


def fetch(count: int) -> bytes:
    head = struct.pack(">iiiib", -1, 0, 0, 1 << 20, 0) + int32(1) + text(TOPIC)
    return request(1, 4, head + int32(count) + struct.pack(">iqi", 0, 0, 0) * count)


_FETCH_V15 = struct.pack(">iiibii", 0, 0, 1 << 20, 0, 0, -1)


def fetch_of_unknown_partitions(count: int) -> bytes:
    head = struct.pack(">iiiib", -1, 0, 0, 1 << 20, 0) + int32(1) + text(TOPIC)
    asked = b"".join(struct.pack(">iqi", index, 0, 0) for index in range(count))
    return request(1, 4, head + int32(count) + asked)


def fetch_of_a_session(count: int, session_id: int = 0, epoch: int = 0) -> bytes:
    """Opens a session of so many partitions, or tells one of each of them."""
    head = struct.pack(">iiiibii", -1, 0, 0, 1 << 20, 0, session_id, epoch)
    asked = b"".join(struct.pack(">iqqi", index, 0, -1, 0) for index in range(count))
    return request(1, 7, head + int32(1) + text(TOPIC) + int32(count) + asked + int32(0))


def fetch_of_empty_topics(count: int) -> bytes:
    body = _FETCH_V15 + uvarint(count + 1) + (b"\7" * 16 + b"\1\0") * count + b"\1\1\0"
    return request(1, 15, body, flexible=True)


def fetch_of_empty_tags(count: int) -> bytes:
    return request(1, 15, _FETCH_V15 + b"\1\1\1" + uvarint(count) + b"\7\0" * count, flexible=True)


def list_offsets(count: int) -> bytes:
    head = int32(-1, 1) + text(TOPIC) + int32(count)
    return request(2, 1, head + struct.pack(">iq", 0, -1) * count)


def list_offsets_by_time(partitions: int) -> bytes:
    head = int32(-1, 1) + text(TOPIC) + int32(partitions)
    return request(2, 1, head + b"".join(struct.pack(">iq", i, 1) for i in range(partitions)))


def list_offsets_of_unknown_partitions(count: int) -> bytes:
    head = int32(-1, 1) + text(TOPIC) + int32(count)
    return request(2, 1, head + b"".join(struct.pack(">iq", i, -1) for i in range(count)))


def offset_fetch(count: int) -> bytes:
    return request(9, 5, text("g") + int32(1) + text(TOPIC) + int32(count) + int32(0) * count)


def offset_commit(count: int) -> bytes:
    head = text("gg") + int32(-1) + text("") + struct.pack(">q", -1) + int32(1) + text(TOPIC)
    return request(8, 2, head + int32(count) + (struct.pack(">iq", 0, 5) + text("m")) * count)


def find_coordinators(count: int) -> bytes:
    return request(10, 4, b"\0" + uvarint(count + 1) + b"\2g" * count + b"\0", flexible=True)


def describe_groups(count: int) -> bytes:
    return request(15, 0, int32(count) + text("g") * count)


def describe_configs(count: int) -> bytes:
    one = b"\2" + text(TOPIC) + int32(-1)
    return request(32, 1, int32(count) + one * count + b"\1")


def alter_configs(count: int) -> bytes:
    """Another retention for each topic of a world; there are some that it does not have."""
    config = int32(1) + text("retention.ms") + text("-1")
    resources = b"".join(b"\2" + text(f"world-{index}") + config for index in range(count))
    return request(33, 1, int32(count) + resources + b"\0")


def delete_records(count: int) -> bytes:
    head = int32(1) + text(TOPIC) + int32(count)
    return request(21, 0, head + struct.pack(">iq", 0, 0) * count + int32(100))


def delete_all_records() -> bytes:
    """Those of the topic."""
    asked = b"".join(struct.pack(">iq", index, -1) for index in range(PARTITIONS))
    return request(21, 0, int32(1) + text(TOPIC) + int32(PARTITIONS) + asked + int32(100))


def describe_topic_partitions(count: int) -> bytes:
    body = uvarint(count + 1) + b"\2q\0" * count + int32(2000) + b"\xff\0"
    return request(75, 0, body, flexible=True)


def describe_unknown_topics(count: int) -> bytes:
    names = b"".join(b"\x09u%07d\0" % index for index in range(count))
    body = uvarint(count + 1) + names + int32(2000) + b"\xff\0"
    return request(75, 0, body, flexible=True)


def delete_groups(count: int) -> bytes:
    groups = b"".join(text(f"g{index:07d}") for index in range(count))
    return request(42, 0, int32(count) + groups)


def leave_group(count: int) -> bytes:
    member = text("m") + struct.pack(">h", -1)
    return request(13, 3, text("g") + int32(count) + member * count)


def encoded(message: object, version: int) -> bytes:
    """The frame of a message."""
    key: int = message.API_KEY  # type: ignore[attr-defined]  # each request has it
    body = encode_request_header(key, version, 7, "hostile") + b"".join(encode(message, version))
    return struct.pack(">i", len(body)) + body


def verify_transactions(count: int) -> bytes:
    topics = [AddPartitionsToTxnTopic(TOPIC, [0])]
    asked = [
        AddPartitionsToTxnTransaction(f"t{index}", 1, 0, verify_only=True, topics=topics)
        for index in range(count)
    ]
    return encoded(AddPartitionsToTxnRequest(transactions=asked), 5)


def write_markers(producers: int) -> bytes:
    """For each partition of the topic."""
    topics = [WritableTxnMarkerTopic(TOPIC, list(range(PARTITIONS)))]
    markers = [WritableTxnMarker(100 + index, 0, True, topics, 0) for index in range(producers)]
    return encoded(WriteTxnMarkersRequest(markers), 1)


def everything_of_a_world(topics: int) -> dict[str, Callable[[], bytes]]:
    """Small requests whose answers are long on a broker of so many topics and groups.

    Each topic, `world-0` and on, has one partition, of which the group `every` has a position.
    """
    groups = b"".join(text(f"group-{index}") for index in range(topics))
    resources = b"".join(b"\2" + text(f"world-{index}") + int32(-1) for index in range(topics))
    return {
        f"Metadata: all of {topics:,} topics": lambda: request(3, 4, int32(-1) + b"\0"),
        "DescribeTopicPartitions: all topics": lambda: request(
            75, 0, b"\1" + int32(2000) + b"\xff\0", flexible=True
        ),
        "DescribeConfigs: all topics": lambda: request(32, 1, int32(topics) + resources + b"\1"),
        f"AlterConfigs: {topics:,} topics": lambda: alter_configs(topics),
        "DescribeLogDirs: all": lambda: request(35, 1, int32(-1)),
        "ListConfigResources": lambda: request(74, 1, b"\1\0", flexible=True),
        "OffsetFetch: all positions of a group": lambda: request(9, 5, text("every") + int32(-1)),
        "ListGroups": lambda: request(16, 0, b""),
        "DescribeGroups: all groups": lambda: request(15, 0, int32(topics) + groups),
    }


def world_topics(first: int, count: int) -> bytes:
    """Creates some of the topics of such a world."""
    topics = b"".join(
        text(f"world-{index}") + struct.pack(">ihii", 1, 1, 0, 0)
        for index in range(first, first + count)
    )
    return request(19, 2, int32(count) + topics + struct.pack(">ib", 60_000, 0))


def world_positions(group: str, first: int, count: int) -> bytes:
    """Commits a position in each of some of its topics."""
    head = text(group) + int32(-1) + text("") + struct.pack(">q", -1) + int32(count)
    one = int32(1) + struct.pack(">iq", 0, 5) + text("m")
    topics = b"".join(text(f"world-{index}") + one for index in range(first, first + count))
    return request(8, 2, head + topics)


MIB: Final = 1 << 20

FULL: Final[dict[str, Callable[[], bytes]]] = {
    "Produce: 100,000 records of 8 bytes": lambda: produce(batch(tiny_records(100_000), 100_000)),
    "Produce: 90,000 records, compacted topic": lambda: produce(
        batch(tiny_records(90_000, b"\2k"), 90_000), 1, COMPACTED
    ),
    "Produce: 90,000 records without keys, compacted topic": lambda: produce(
        batch(tiny_records(90_000), 90_000), 1, COMPACTED, 8
    ),
    "Produce: 90,000 records without keys, compacted topic, for 10 partitions": lambda: produce(
        batch(tiny_records(90_000), 90_000), 10, COMPACTED, 8
    ),
    "Produce: 3,500 records, compacted topic, for 100 partitions": lambda: produce(
        batch(tiny_records(3500, b"\2k"), 3500), 100, COMPACTED
    ),
    "Produce: 90,000 records, compression.type=gzip": lambda: produce(
        batch(tiny_records(90_000), 90_000), 1, RECODED
    ),
    "Produce: a record of 100 MiB, zstd, compression.type=gzip": lambda: produce(
        batch(zstd(one_record(100 * MIB)), 1, 4), 1, RECODED
    ),
    "Produce: 1,000,000 records of 8 bytes, zstd": lambda: produce(
        batch(zstd(tiny_records(1_000_000)), 1_000_000, 4)
    ),
    "Produce: a record of 100 MiB, zstd": lambda: produce(batch(zstd(one_record(100 * MIB)), 1, 4)),
    "Produce: a record of 100 MiB, gzip": lambda: produce(batch(gzip(one_record(100 * MIB)), 1, 1)),
    "Produce: 1 GiB of zeros, gzip": lambda: produce(batch(gzip(zeros(1024 * MIB)), 1, 1)),
    "Produce: 1 GiB of zeros, zstd": lambda: produce(batch(zstd(zeros(1024 * MIB)), 1, 4)),
    "Produce: 200 MiB of zeros, lz4": lambda: produce(batch(lz4(zeros(200 * MIB)), 1, 3)),
    "Produce: 20 MiB of zeros, snappy": lambda: produce(batch(snappy(zeros(20 * MIB)), 1, 2)),
    "Produce: 120 MiB of zeros, zstd, for 100 partitions": lambda: produce(
        batch(zstd(zeros(120 * MIB)), 1, 4), 100
    ),
    "Produce: a record of 100 MiB, zstd, for 100 partitions": lambda: produce(
        batch(zstd(one_record(100 * MIB)), 1, 4), 100
    ),
    "Produce: 120 MiB of zeros, gzip, for 100 partitions": lambda: produce(
        batch(gzip(zeros(120 * MIB)), 1, 1), 100
    ),
    "Metadata: one name 1,000,000 times": lambda: metadata(1_000_000),
    "Metadata: one name 30,000,000 times": lambda: metadata(30_000_000),
    "Metadata: 120,000 unknown names": lambda: metadata_unknown_names(120_000),
    "DescribeTopicPartitions: 19,000 unknown names": lambda: describe_unknown_topics(19_000),
    "Fetch: one partition 6,000,000 times": lambda: fetch(6_000_000),
    "Fetch: 100,000 unknown partitions": lambda: fetch_of_unknown_partitions(100_000),
    "Fetch v15: 466,000 topics of no partition": lambda: fetch_of_empty_topics(466_000),
    "Fetch v15: 4,000,000 empty tags": lambda: fetch_of_empty_tags(4_000_000),
    "ListOffsets: one partition 8,000,000 times": lambda: list_offsets(8_000_000),
    "ListOffsets: 250,000 unknown partitions": lambda: list_offsets_of_unknown_partitions(250_000),
    "ListOffsets: 500,000 unknown partitions": lambda: list_offsets_of_unknown_partitions(500_000),
    "OffsetFetch: one partition 25,000,000 times": lambda: offset_fetch(25_000_000),
    "OffsetFetch: one partition 500,000 times": lambda: offset_fetch(500_000),
    "OffsetCommit: one partition 19,000 times": lambda: offset_commit(19_000),
    "OffsetCommit: one partition 6,000,000 times": lambda: offset_commit(6_000_000),
    "OffsetCommit: one partition 100,000 times": lambda: offset_commit(100_000),
    "FindCoordinator: one group 50,000,000 times": lambda: find_coordinators(50_000_000),
    "FindCoordinator: one group 500,000 times": lambda: find_coordinators(500_000),
    "DescribeGroups: one group 30,000,000 times": lambda: describe_groups(30_000_000),
    "DescribeGroups: one group 500,000 times": lambda: describe_groups(500_000),
    "DeleteGroups: 10,000 groups": lambda: delete_groups(10_000),
    "LeaveGroup: one member 100,000 times": lambda: leave_group(100_000),
    "AddPartitionsToTxn: 6,000 transactions are verified": lambda: verify_transactions(6_000),
    "WriteTxnMarkers: 190 producers in 100 partitions": lambda: write_markers(190),
    "DeleteRecords: one partition 8,000,000 times": lambda: delete_records(8_000_000),
    "DescribeTopicPartitions: one name 10,000,000 times": lambda: describe_topic_partitions(
        10_000_000
    ),
    "CreateTopics: a topic of 10,000 partitions": lambda: create_topic_of(10_000),
    "CreateTopics: a topic of 100,000 partitions": lambda: create_topic_of(100_000),
    "CreateTopics: a topic of 2,147,483,647 partitions": lambda: create_topic_of(2**31 - 1),
    "CreatePartitions: 2,147,483,647": lambda: create_partitions(2**31 - 1),
    "CreateTopics: 4,000 topics": lambda: create_topics(4_000),
    "CreateTopics: 10,000 topics": lambda: create_topics(10_000),
    "DeleteTopics: 4,000 topics": lambda: delete_topics(4_000),
    "Metadata: 100,000 new topics": lambda: metadata_new_topics(100_000),
    "DescribeConfigs: one topic 10,000 times": lambda: describe_configs(10_000),
    "DescribeConfigs: one topic 100,000 times": lambda: describe_configs(100_000),
}
