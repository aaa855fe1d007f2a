"""Cases 16 to 19: Fetch v3, which Apache Kafka served up to 3.9 and ours serves.

v0 to v2, which 3.9 has too, ours leaves out; nobody who speaks them speaks no v3.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

import pytest

from mockbroker_protocol.records import legacy
from mockbroker_protocol.records.batch import build_batch, iterate_batches
from mockbroker_protocol.records.record_codec import Record
from tests.fetch_cases.conftest import Brokers
from tests.fetch_cases.target import KAFKA, OURS, batch

if TYPE_CHECKING:
    from tests.fetch_cases.asking import Got, Topic
    from tests.fetch_cases.target import Target

T0 = 1_700_000_000_000
GZIP, SNAPPY, LZ4, ZSTD = 1, 2, 3, 4


def pairs(target: Target) -> Topic:
    """Two batches of two records."""

    def make(target: Target) -> Topic:
        topic = target.topic()
        for _ in range(2):
            target.append(topic, 0, batch(50, count=2, timestamp=T0))
        return topic

    return target.shared("pairs", make)


def old(target: Target, topic: Topic, offset: int = 0, limit: int = 1 << 20) -> Got:
    return target.reader().fetch(topic.at(0, offset, limit), version=3).only


def test_16_batches_become_messages_from_the_offset_on(old_target: Target) -> None:
    topic = pairs(old_target)
    whole = old_target.reader().fetch(topic.at(0, 1), version=4).only
    got = old(old_target, topic, 1)
    assert (got.error, got.high_watermark) == (0, 4)
    messages = list(legacy.iterate_messages(got.records))
    assert messages[0].offset == 1
    assert {message.magic for message in messages} == {1}
    for message in messages:
        end = message.position + message.size
        assert zlib.crc32(got.records[message.position + 16 : end]) == message.crc
        assert message.timestamp == T0
        assert bytes(message.value or b"") == b"v" * 50
    # As long as the batches; the rest claims to be a message that is longer than the rest.
    assert got.size == whole.size
    used = messages[-1].position + messages[-1].size
    rest = got.records[used:]
    if len(messages) == 3:
        assert rest[:8] == b"\xff" * 8
        assert int.from_bytes(rest[8:12], "big") > len(rest) - 12


def test_17_each_version_has_its_magic(old_target: Target) -> None:
    topic = pairs(old_target)
    messages = legacy.iterate_messages(old(old_target, topic, 1).records)
    assert next(iter(messages)).magic == 1
    newer = old_target.reader().fetch(topic.at(0, 1), version=4).only
    assert [(h.magic, h.base_offset) for _, h in iterate_batches(newer.records)] == [(2, 0), (2, 2)]


def test_18_the_first_batch_is_given_whatever_the_limit(old_target: Target) -> None:
    topic = pairs(old_target)
    reader = old_target.reader()
    first = reader.fetch(topic.at(0, 0, 10), version=4).only
    assert [header.base_offset for _, header in iterate_batches(first.records)] == [0]
    converted = old(old_target, topic, 0, 10)
    assert converted.size >= first.size
    offsets = [record.offset for record in legacy.iterate_records(converted.records)]
    assert offsets == [0, 1]


def zstd_topic(target: Target) -> Topic:
    def make(target: Target) -> Topic:
        topic = target.topic(compression_type="zstd")
        target.append(topic, 0, batch(300, compression=ZSTD))
        return topic

    return target.shared("zstd", make)


def test_19_zstd_needs_v10_up_to_39_and_v4_since(old_target: Target) -> None:
    topic = zstd_topic(old_target)
    reader = old_target.reader()
    for version in range(3, 18):
        got = reader.fetch(topic.at(0), version=version).only
        refused = version < (10 if old_target.is_kafka else 4)
        assert got.error == (76 if refused else 0), version
        if refused:
            assert got.size == 0
        else:
            assert [h.compression for _, h in iterate_batches(got.records)] == [ZSTD]


def test_19_44_gives_zstd_to_every_version(target: Target) -> None:
    topic = zstd_topic(target)
    reader = target.reader()
    for version in range(4, 19):
        got = reader.fetch(topic.at(0), version=version).only
        assert got.error == 0
        assert [h.compression for _, h in iterate_batches(got.records)] == [ZSTD]


def records(count: int, base: int = 0, **values: object) -> list[Record]:
    return [
        Record(base + index, T0 + 7 * index, b"k%d" % index, b"v" * (40 + index), [("h", b"x")])
        for index in range(count)
    ]


SHAPES: dict[str, list[bytes]] = {
    "plain": [build_batch(records(3)), build_batch(records(1))],
    "ones": [build_batch(records(1)) for _ in range(6)],
    "null": [build_batch([Record(0, T0, None, None)]), build_batch([Record(0, T0, b"", b"")])],
    "gzip": [build_batch(records(20), compression=GZIP), build_batch(records(2))],
    "snappy": [build_batch(records(20), compression=SNAPPY)],
    "lz4": [build_batch(records(20), compression=LZ4), build_batch(records(1))],
    "zstd": [build_batch(records(2)), build_batch(records(20), compression=ZSTD)],
    "zstd first": [build_batch(records(20), compression=ZSTD), build_batch(records(2))],
}
READS = [(0, 1 << 20), (1, 1 << 20), (2, 100), (0, 10), (0, 250), (3, 1 << 20)]
COMPRESSED = {"gzip", "snappy", "lz4"}


@pytest.mark.kafka
@pytest.mark.parametrize("config", ["CreateTime", "LogAppendTime"])
@pytest.mark.parametrize("shape", SHAPES)
def test_16_conversion_is_that_of_39_byte_for_byte(
    brokers: Brokers, shape: str, config: str
) -> None:
    """Compressed data are compared by their records, since compressors differ."""
    told = []
    for kind in (OURS, KAFKA):
        target = brokers.get(kind, "old")
        topic = target.topic(message_timestamp_type=config)
        for data in SHAPES[shape]:
            target.append(topic, 0, data)
        told.append([what(old(target, topic, *read), shape, config) for read in READS])
        target.close_readers()
    assert told[0] == told[1]


def what(got: Got, shape: str, config: str) -> tuple[object, ...]:
    if shape not in COMPRESSED and config == "CreateTime":
        return got.error, got.high_watermark, got.records
    found = [
        (record.offset, record.timestamp if config == "CreateTime" else 0, record.key, record.value)
        for record in legacy.iterate_records(got.records)
    ]
    messages = [
        (message.magic, message.attributes, message.offset)
        for message in legacy.iterate_messages(got.records)
    ]
    return got.error, got.high_watermark, found, messages
