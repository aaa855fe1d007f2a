from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockbroker_protocol.errors import ProtocolError
from mockbroker_protocol.records import batch as b
from mockbroker_protocol.records.record_codec import Record
from mockbroker_protocol.records.record_places import locate_records
from tests.protocol.records import golden
from tests.protocol.records.libraries import BATCH_BUILDERS, BATCH_READERS
from tests.support.batches import stamped_batch

BASE = 1_700_000_000_000
CODECS = [b.NONE, b.GZIP, b.SNAPPY, b.LZ4, b.ZSTD]


def some_records(count: int = 5, offset: int = 0) -> list[Record]:
    return [
        Record(
            offset + i,
            BASE + i * 7,
            None if i % 3 == 0 else b"key-%d" % i,
            None if i % 4 == 3 else b"value" * (i + 1),
            [("h", b"x"), ("empty", None)] if i % 2 else [],
        )
        for i in range(count)
    ]


def read_back(data: bytes) -> list[Record]:
    header = b.read_batch_header(data)
    assert header.size_in_bytes == len(data)
    assert b.verify_crc(data, 0, header)
    return list(b.iterate_records(data, 0, header))


# --- wire ------------------------------------------------------------------------------------


def test_one_record_batches_have_the_sizes_kafka_gives_them() -> None:
    for value, size in ((1, 69), (20, 88), (50, 118), (100, 170), (1000, 1070)):
        assert len(b.build_batch([Record(0, BASE, None, bytes(value))])) == size


def test_header_fields_lie_where_kafka_puts_them() -> None:
    data = b.build_batch(
        some_records(3, offset=40),
        producer_id=77,
        producer_epoch=3,
        base_sequence=9,
        transactional=True,
        partition_leader_epoch=5,
    )
    header = b.read_batch_header(b"..." + data, 3)
    assert (header.base_offset, header.last_offset, header.next_offset) == (40, 42, 43)
    assert (header.partition_leader_epoch, header.magic, header.record_count) == (5, 2, 3)
    assert (header.base_timestamp, header.max_timestamp) == (BASE, BASE + 14)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (77, 3, 9)
    assert header.last_sequence == 11
    assert (header.compression, header.timestamp_type) == (0, 0)
    assert header.is_transactional
    assert not header.is_control
    assert header.delete_horizon_ms is None
    assert b.pack_header(header) == data[:61]
    assert "base_offset=40" in repr(header)


def test_sequence_wraps_after_the_largest() -> None:
    header = b.read_batch_header(b.build_batch(some_records(3), base_sequence=2147483646))
    assert header.last_sequence == 0
    header = b.read_batch_header(b.build_batch(some_records(3)))
    assert header.last_sequence == -1


def test_abort_marker_is_kafkas_78_bytes() -> None:
    data = b.control_batch(5, 0, commit=False, coordinator_epoch=0, timestamp_ms=BASE)
    header = b.read_batch_header(data)
    assert len(data) == 78
    assert header.is_control
    assert header.is_transactional
    assert header.base_sequence == -1
    assert data[61:] == bytes.fromhex("2000000008000000000c00000000000000")
    (marker,) = b.iterate_records(data, 0, header)
    assert b.parse_control_record(marker) == (b.CONTROL_ABORT, 0)


def test_commit_marker_carries_the_coordinator_epoch() -> None:
    data = b.control_batch(5, 1, True, 12, BASE, base_offset=30, partition_leader_epoch=2)
    (marker,) = read_back(data)
    assert marker.offset == 30
    assert b.parse_control_record(marker) == (b.CONTROL_COMMIT, 12)


def test_control_records_of_other_kinds_and_bad_ones() -> None:
    assert b.parse_control_record(Record(0, 0, b"\0\0\0\2", None)) == (2, -1)
    assert b.parse_control_record(Record(0, 0, b"\0\1\0\0more", b"\0\1\0\0\0\7more")) == (0, 7)
    for key, value in ((None, None), (b"\0\0\0", b""), (b"\xff\xff\0\0", b""), (b"\0\0\0\1", None)):
        with pytest.raises(ProtocolError):
            b.parse_control_record(Record(0, 0, key, value))


# --- build and read --------------------------------------------------------------------------


@pytest.mark.parametrize("codec", CODECS)
def test_records_come_back_under_each_codec(codec: int) -> None:
    records = some_records(300, offset=12)
    data = b.build_batch(records, compression=codec)
    header = b.read_batch_header(data)
    assert header.compression == codec
    assert read_back(data) == records
    assert b.count_records(data, 0, header) == 300
    scan = b.scan_records(data, 0, header, latest_ms=BASE)
    assert (scan.count, scan.sequential, scan.max_timestamp) == (300, True, header.max_timestamp)
    assert scan.untimely == list(range(1, 300))


def test_log_append_time_is_every_records_timestamp() -> None:
    data = stamped_batch(some_records(), BASE + 99)
    header = b.read_batch_header(data)
    assert (header.timestamp_type, header.base_timestamp) == (1, BASE)
    assert {record.timestamp for record in read_back(data)} == {BASE + 99}


def test_compaction_keeps_the_offset_range_of_the_batch() -> None:
    records = some_records(5, offset=10)
    kept = [records[2]]
    whole = b.read_batch_header(b.build_batch(records))
    data = b.rebuild_batch(kept, whole, keep_offsets=True, delete_horizon_ms=BASE + 5)
    header = b.read_batch_header(data)
    assert (header.base_offset, header.last_offset, header.record_count) == (10, 14, 1)
    assert header.delete_horizon_ms == BASE + 5
    assert read_back(data) == kept


def test_an_emptied_batch_keeps_producer_and_offsets() -> None:
    whole = b.build_batch(some_records(6, offset=3), producer_id=4, producer_epoch=0)
    data = b.rebuild_batch([], b.read_batch_header(whole), keep_offsets=True)
    header = b.read_batch_header(data)
    assert (header.producer_id, header.producer_epoch) == (4, 0)
    assert (len(data), header.last_offset, header.record_count) == (61, 8, 0)
    assert (header.base_timestamp, header.max_timestamp) == (-1, -1)
    assert read_back(data) == []


def test_decompressed_size_is_limited() -> None:
    data = b.build_batch([Record(0, BASE, None, bytes(10_000))], compression=b.GZIP)
    header = b.read_batch_header(data)
    assert b.count_records(data, 0, header, max_bytes=20_000) == 1
    for read in (b.count_records, b.scan_records, b.iterate_records):
        with pytest.raises(ProtocolError):
            read(data, 0, header, max_bytes=9_000)


# --- sets of batches -------------------------------------------------------------------------


def test_batches_are_iterated_whole_and_a_cut_tail_is_left_out() -> None:
    first, second = b.build_batch(some_records(2)), b.build_batch(some_records(3, offset=2))
    data = first + second
    for cut in range(len(data) + 1):
        found = [pos for pos, _ in b.iterate_batches(memoryview(data)[:cut])]
        assert found == [0, len(first)][: (cut >= len(first)) + (cut == len(data))]
    assert [h.base_offset for _, h in b.iterate_batches(b"??" + data, 2)] == [0, 2]


def test_bytes_that_begin_no_batch_are_an_error() -> None:
    good = b.build_batch(some_records(1))
    for junk in (bytes(17), b"\xff" * 17, good[:16] + b"\1" + good[17:]):
        with pytest.raises(ProtocolError):
            list(b.iterate_batches(good + junk))
    short = bytearray(good)
    short[8:12] = (20).to_bytes(4, "big")
    with pytest.raises(ProtocolError):
        list(b.iterate_batches(short))


def test_magic_can_be_looked_at_before_all_else() -> None:
    data = b.build_batch(some_records(1))
    assert b.peek_magic(data) == 2
    assert b.peek_magic(data[:16]) is None


def test_a_batch_of_another_magic_has_no_header_here() -> None:
    data = bytearray(b.build_batch(some_records(1)))
    data[b.MAGIC_OFFSET] = 1
    with pytest.raises(ProtocolError, match="magic 1"):
        b.read_batch_header(data)


def test_header_needs_the_whole_batch_or_it_is_an_error() -> None:
    data = b.build_batch(some_records(2))
    for cut in range(len(data)):
        with pytest.raises(ProtocolError):
            b.read_batch_header(data[:cut])
    assert b.unpack_header(data[:61]).record_count == 2


def test_a_flipped_bit_breaks_the_checksum() -> None:
    data = b.build_batch(some_records(3))
    header = b.read_batch_header(data)
    for pos in range(b.ATTRIBUTES_OFFSET, len(data)):
        flipped = bytearray(data)
        flipped[pos] ^= 0x10
        assert not b.verify_crc(flipped, 0, header)


@given(st.randoms(use_true_random=False), st.sampled_from(CODECS))
def test_mutated_batches_raise_protocol_errors_alone(rng: Random, codec: int) -> None:
    data = bytearray(b.build_batch(some_records(4), compression=codec))
    for _ in range(rng.randint(1, 5)):
        data[rng.randrange(8, len(data))] = rng.randrange(256)
    readers: list[Callable[[bytearray, int, b.BatchHeader], object]] = [
        lambda *batch: list(b.iterate_records(*batch)),
        b.count_records,
        b.scan_records,
        b.verify_crc,
    ]
    for read in readers:
        try:
            for pos, header in b.iterate_batches(data):
                read(data, pos, header)
        except ProtocolError:
            pass


# --- new headers -----------------------------------------------------------------------------


def test_unchanged_timestamps_leave_the_checksum_alone() -> None:
    data = bytearray(b.build_batch(some_records(3)))
    data[b.CRC_OFFSET] ^= 0xFF
    header = b.read_batch_header(data)
    new = b.patched_header(data, 0, header, base_offset=0, leader_epoch=-1)
    assert new == data[: b.RECORD_BATCH_OVERHEAD]


@pytest.mark.parametrize("timestamp_type", [None, 0, 1])
@pytest.mark.parametrize("max_timestamp", [None, BASE + 77])
def test_a_patched_header_fits_the_records_where_they_lie(
    timestamp_type: int | None, max_timestamp: int | None
) -> None:
    data = b"??" + b.build_batch(some_records(3))
    header = b.read_batch_header(data, 2)
    new = b.patched_header(
        data,
        2,
        header,
        base_offset=500,
        leader_epoch=6,
        timestamp_type=timestamp_type,
        max_timestamp=max_timestamp,
    )
    stored = new + data[2 + 61 :]
    again = b.read_batch_header(stored)
    assert b.verify_crc(stored, 0, again)
    assert (again.base_offset, again.partition_leader_epoch) == (500, 6)
    assert again.timestamp_type == (timestamp_type or 0)
    assert again.max_timestamp == (max_timestamp or BASE + 14)
    assert b.pack_header(header) == new


# --- other people's code ---------------------------------------------------------------------


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("library", BATCH_READERS)
def test_clients_read_our_batches(library: Any, codec: int) -> None:
    records = some_records(200, offset=33)
    data = b.build_batch(
        records, compression=codec, producer_id=5, producer_epoch=1, base_sequence=0
    )
    theirs = library(data)
    assert theirs.validate_crc()
    assert theirs.compression_type == codec
    assert [(r.offset, r.timestamp, r.key, r.value, list(r.headers)) for r in theirs] == [
        (r.offset, r.timestamp, r.key, r.value, list(r.headers)) for r in records
    ]


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("library", BATCH_BUILDERS)
def test_we_read_batches_of_clients(library: Any, codec: int) -> None:
    records = some_records(200)
    builder = library(
        magic=2,
        compression_type=codec,
        is_transactional=True,
        producer_id=5,
        producer_epoch=1,
        base_sequence=7,
        batch_size=1 << 20,
    )
    for r in records:
        assert builder.append(r.offset, r.timestamp, r.key, r.value, list(r.headers)) is not None
    data = bytes(builder.build())
    header = b.read_batch_header(data)
    assert (header.compression, header.record_count, header.base_sequence) == (codec, 200, 7)
    assert read_back(data) == records
    if codec == b.NONE:
        assert data == b.build_batch(
            records,
            transactional=True,
            producer_id=5,
            producer_epoch=1,
            base_sequence=7,
            partition_leader_epoch=header.partition_leader_epoch,
        )


def test_clients_know_our_markers() -> None:
    data = b.control_batch(5, 0, True, 3, BASE)
    aio, kafka_python = (library(data) for library in BATCH_READERS)
    assert aio.is_control_batch
    assert kafka_python.is_control_batch
    (marker,) = kafka_python
    assert marker.commit


@pytest.mark.parametrize(("magic", "codec", "timestamp_type", "theirs"), golden.golden_sets(2))
def test_kafkas_own_batches(magic: int, codec: int, timestamp_type: int, theirs: bytes) -> None:
    header = b.read_batch_header(theirs)
    producer = header.producer_id >= 0
    ours = stamped_batch(
        golden.golden_records(),
        golden.APPEND_TIME if timestamp_type else None,
        compression=codec,
        partition_leader_epoch=5,
        producer_id=77 if producer else -1,
        producer_epoch=3 if producer else -1,
        base_sequence=9 if producer else -1,
        transactional=producer,
    )
    assert header.magic == magic
    assert (header.compression, header.timestamp_type) == (codec, timestamp_type)
    assert read_back(theirs) == read_back(ours)
    # Other releases of zlib and zstd pack the same bytes differently.
    assert ours == theirs or codec in (b.GZIP, b.ZSTD)


@pytest.mark.parametrize(("kind", "theirs"), golden.lines("marker"))
def test_kafkas_own_markers(kind: str, theirs: str) -> None:
    ours = b.control_batch(
        77, 3, kind == "commit", 12, golden.BASE, base_offset=3, partition_leader_epoch=5
    )
    assert ours.hex() == theirs


# --- batches with fewer records ----------------------------------------------------------------


@pytest.mark.parametrize("codec", CODECS)
def test_a_thinned_batch_keeps_its_place_and_its_producer(codec: int) -> None:
    records = some_records(5, offset=40)
    whole = b.build_batch(
        records,
        compression=codec,
        producer_id=77,
        producer_epoch=3,
        base_sequence=9,
        transactional=True,
        partition_leader_epoch=5,
    )
    of = b.read_batch_header(whole)
    data, start, end = b.records_data(whole, 0, of)
    plain = bytes(data)
    edges, _, _ = locate_records(plain, start, end, 5)
    thin = b.thinned_batch(of, [plain[edges[1] : edges[2]], plain[edges[3] : edges[5]]], 3, 50)
    header = b.read_batch_header(thin)
    assert read_back(thin) == [records[1], *records[3:]]
    assert (header.base_offset, header.last_offset, header.compression) == (40, 50, b.NONE)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (77, 3, 9)
    assert (header.is_transactional, header.partition_leader_epoch) == (True, 5)
    assert (header.base_timestamp, header.max_timestamp) == (of.base_timestamp, of.max_timestamp)
    assert of.compression == codec


def test_a_cover_is_a_batch_without_records() -> None:
    cover = b.cover_batch(4, 9, 7)
    header = b.read_batch_header(cover)
    assert len(cover) == b.RECORD_BATCH_OVERHEAD
    assert (header.base_offset, header.last_offset, header.partition_leader_epoch) == (4, 9, 7)
    assert read_back(cover) == []
