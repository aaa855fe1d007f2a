"""Batches lie where the segment says, in few pieces, and never move under a reader."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockbroker.log.segment import MAX_RELATIVE_OFFSET, Segment
from mockbroker_protocol.records.batch import read_batch_header
from tests.mockbroker.log.batches import NOW, plain


def _append(segment: Segment, batch: bytes | bytearray, offset: int, timestamp: int = NOW) -> None:
    count = read_batch_header(batch).record_count
    segment.append(memoryview(batch), offset, offset + count - 1, 3, timestamp)


def _filled(count: int, value_bytes: int = 50) -> Segment:
    segment = Segment(100, NOW)
    for n in range(count):
        _append(segment, plain(value_bytes), 100 + n)
    return segment


def test_stamps_offset_and_epoch_and_nothing_else() -> None:
    segment = Segment(100, NOW)
    original = plain(50, count=3)
    _append(segment, original, 100)
    stored = bytes(segment.batch(0))
    header = segment.header(0)
    assert (header.base_offset, header.partition_leader_epoch) == (100, 3)
    assert stored[16:] == original[16:]
    assert stored[8:12] == original[8:12]
    assert segment.header(0).base_offset == 100


@pytest.mark.parametrize("value_bytes", [10, 5_000, 20_000, 100_000])
@pytest.mark.parametrize("kind", [bytes, bytearray])
def test_any_size_in_any_buffer_is_read_back(
    value_bytes: int, kind: type[bytes | bytearray]
) -> None:
    segment = Segment(0, NOW)
    originals = [plain(value_bytes + n) for n in range(4)]
    for n, original in enumerate(originals):
        _append(segment, kind(original), n)
    for n, original in enumerate(originals):
        assert bytes(segment.batch(n))[16:] == original[16:]
        assert segment.header(n).base_offset == n
        assert segment.size_of(n) == len(original)
    whole = b"".join(segment.chunks(0, segment.size_bytes))
    assert whole == b"".join(bytes(segment.batch(n)) for n in range(4))


def test_a_large_writable_buffer_is_kept_and_not_copied() -> None:
    segment = Segment(0, NOW)
    frame = bytearray(plain(100_000))
    _append(segment, frame, 5)
    (chunk,) = segment.chunks(0, len(frame))
    assert isinstance(chunk, memoryview)
    assert chunk.obj is frame


def test_a_replaced_header_is_what_is_stored() -> None:
    for value_bytes in (50, 20_000, 100_000):
        for kind in (bytes, bytearray):
            segment = Segment(0, NOW)
            batch, other = plain(value_bytes), plain(value_bytes, timestamp=NOW + 5)
            segment.append(memoryview(kind(batch)), 9, 9, 1, NOW, other[:61])
            stored = bytes(segment.batch(0))
            assert stored[16:61] == other[16:61]
            assert stored[61:] == batch[61:]
            assert segment.header(0).base_offset == 9


def test_a_thousand_small_batches_are_few_pieces() -> None:
    segment = _filled(1000)
    assert len(segment.chunks(0, segment.size_bytes)) < 12
    assert len(segment.blocks) < 12
    assert len(segment) == 1000


def test_one_small_batch_takes_little_room() -> None:
    segment = _filled(1)
    assert sum(block.nbytes for block in segment.blocks) == 512


def test_batches_of_some_kilobytes_leave_no_room_unused() -> None:
    segment = _filled(100, 11_000)
    assert sum(block.nbytes for block in segment.blocks[:-1]) > 0.99 * segment.block_starts[-1]
    assert sum(block.nbytes for block in segment.blocks) < 1.1 * segment.size_bytes + 128 * 1024


@given(st.lists(st.integers(1, 600), min_size=1, max_size=40), st.data())
def test_any_range_of_bytes_is_that_range(sizes: list[int], data: st.DataObject) -> None:
    segment = Segment(0, NOW)
    for n, size in enumerate(sizes):
        _append(segment, bytearray(plain(size * 61)), n)
    whole = b"".join(bytes(segment.batch(n)) for n in range(len(sizes)))
    start = data.draw(st.integers(0, len(whole) - 1))
    size = data.draw(st.integers(1, len(whole) - start))
    assert b"".join(segment.chunks(start, size)) == whole[start : start + size]


def test_finds_the_batch_that_reaches_an_offset() -> None:
    segment = Segment(10, NOW)
    for first, count in ((10, 5), (15, 1), (20, 2)):  # a gap from 16 to 19
        _append(segment, plain(count=count), first)
    found = [segment.find(offset) for offset in (0, 10, 14, 15, 16, 19, 20, 21, 22)]
    assert found == [0, 0, 0, 1, 2, 2, 2, 2, 3]
    assert Segment(0, NOW).find(0) == 0


def test_truncation_leaves_readers_what_they_hold() -> None:
    segment = _filled(10)
    held = segment.chunks(0, segment.size_bytes)
    before = b"".join(held)
    whole, segment = segment, segment.beginning(4)
    assert (len(whole), whole.size_bytes) == (10, 10 * 118)
    assert len(segment) == 4
    assert segment.size_bytes == 4 * 118
    for n in range(6):
        _append(segment, plain(49), 200 + n)
    assert b"".join(held) == before
    assert [segment.header(n).base_offset for n in range(3, 6)] == [103, 200, 201]
    assert [whole.header(n).base_offset for n in range(3, 6)] == [103, 104, 105]


def test_goes_back_to_a_mark() -> None:
    segment = _filled(4)
    mark, before = segment.mark(), (segment.size_bytes, segment.max_timestamp)
    held = segment.chunks(0, segment.size_bytes)
    bytes_before = b"".join(held)
    segment.back_to(mark)
    _append(segment, plain(49), 200, NOW + 5)
    segment.modified_wall_ms += 7
    segment.back_to(mark)
    assert segment.mark() == mark
    assert (segment.size_bytes, segment.max_timestamp) == before
    _append(segment, plain(7), 104)
    assert [segment.header(n).base_offset for n in (3, 4)] == [103, 104]
    assert b"".join(held) == bytes_before


def test_truncation_to_nothing_starts_anew() -> None:
    segment = _filled(3).beginning(0)
    assert (segment.size_bytes, segment.max_timestamp, segment.first_timestamp) == (0, -1, -1)
    _append(segment, plain(), 100, NOW + 7)
    assert (segment.max_timestamp, segment.first_timestamp) == (NOW + 7, NOW + 7)


def test_the_offset_index_is_sparse() -> None:
    segment = _filled(100)  # 118 bytes each: an entry after each 35 batches
    assert segment.upper_bound_offset(0) == 135
    assert segment.upper_bound_offset(35 * 118 - 1) == 135
    assert segment.upper_bound_offset(35 * 118) == 170, "the index is blind on its first entry"
    assert segment.upper_bound_offset(35 * 118 + 1) == 170
    assert segment.upper_bound_offset(70 * 118) == 170
    assert segment.upper_bound_offset(71 * 118) is None
    assert segment.beginning(50).upper_bound_offset(36 * 118) is None


def test_finds_the_first_batch_that_may_hold_a_timestamp() -> None:
    segment = Segment(0, NOW)
    for n, timestamp in enumerate((10, 30, 20, 30, 40)):
        _append(segment, plain(timestamp=timestamp), n, timestamp)
    assert [segment.find_timestamp(t, 0) for t in (5, 10, 11, 30, 31, 41)] == [0, 0, 1, 1, 4, 5]
    assert [segment.find_timestamp(t, 2) for t in (5, 20, 25, 35, 41)] == [2, 2, 3, 4, 5]


@given(st.lists(st.integers(-1, 9), min_size=30, max_size=110), st.data())
def test_finds_timestamps_and_offsets_as_one_who_looks_at_each_batch(
    timestamps: list[int], data: st.DataObject
) -> None:
    segment = Segment(7, NOW)
    offset = 7
    lasts = []
    for timestamp in timestamps:
        offset += data.draw(st.integers(0, 2), label="gap")
        _append(segment, plain(1, timestamp=timestamp), offset, timestamp)
        lasts.append(offset)
        offset += 1
    segment = segment.beginning(data.draw(st.integers(1, len(lasts) - 1), label="kept"))
    count = len(segment)
    assert segment.max_timestamp == max(timestamps[:count])
    start = data.draw(st.integers(0, count), label="start")
    timestamp = data.draw(st.integers(-1, 10), label="timestamp")
    later = (n for n in range(start, count) if timestamps[n] >= timestamp)
    assert segment.find_timestamp(timestamp, start) == next(later, count)
    wanted = data.draw(st.integers(0, offset + 1), label="offset")
    reaching = (n for n in range(count) if lasts[n] >= wanted)
    assert segment.find(wanted) == next(reaching, count)
    position = data.draw(st.integers(0, segment.size_bytes), label="position")
    beginning = [n for n in range(count) if segment.position(n) <= position]
    assert segment.find_position(position, 0) == beginning[-1]


def test_the_newest_batch_of_many_is_found_in_what_was_noted_of_them() -> None:
    timestamps = [*[10] * 31, 50, *[20] * 40, 60, 10]
    segment = Segment(0, NOW)
    for n, timestamp in enumerate(timestamps):
        _append(segment, plain(1, timestamp=timestamp), n, timestamp)
    assert [segment.find_timestamp(t, 0) for t in (10, 20, 50, 51, 60)] == [0, 31, 31, 72, 72]
    assert [segment.find_timestamp(t, 32) for t in (10, 20, 50)] == [32, 32, 72]


def test_an_offset_as_far_as_an_index_reaches_is_found() -> None:
    segment = Segment(5, NOW)
    _append(segment, plain(), 5)
    _append(segment, plain(), 5 + MAX_RELATIVE_OFFSET)
    assert segment.last_offset(-1) == 5 + MAX_RELATIVE_OFFSET
    assert [segment.find(5 + n) for n in (1, MAX_RELATIVE_OFFSET, MAX_RELATIVE_OFFSET + 1)] == [
        1,
        1,
        2,
    ]
    assert segment.position(1) == segment.size_of(0)


@pytest.mark.parametrize(
    ("size", "timestamp", "now", "expected"),
    [
        (882, NOW, NOW, False),
        (883, NOW, NOW, True),
        (1, NOW + 50, NOW, False),
        (1, NOW + 51, NOW, True),
        (1, NOW, NOW + 10_000, False),
    ],
)
def test_rolls_by_size_and_by_the_records_own_time(
    size: int, timestamp: int, now: int, expected: bool
) -> None:
    segment = _filled(1)
    assert segment.should_roll(size, timestamp, now, 1000, 50) is expected


def test_without_record_timestamps_the_segments_age_counts() -> None:
    segment = Segment(0, NOW)
    assert not segment.should_roll(5000, NOW, NOW + 51, 1000, 50), "never while it is empty"
    _append(segment, plain(timestamp=-1), 0, -1)
    assert not segment.should_roll(1, -1, NOW + 50, 1000, 50)
    assert segment.should_roll(1, -1, NOW + 51, 1000, 50)
