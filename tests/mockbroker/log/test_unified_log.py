"""Appending, offsets and epochs, and cutting at both ends."""

from __future__ import annotations

import sys

import pytest

from mockbroker.config.log_config import LogConfig
from mockbroker.log.results import AppendOrigin
from mockbroker.log.unified_log import UnifiedLog
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.records.batch import read_batch_header
from tests.mockbroker.log.batches import (
    HIGH_WATERMARK,
    LOG_END,
    NOW,
    base_offsets,
    bytes_of,
    log_with,
    plain,
    produced,
    put,
)

OK = ErrorCode.NONE
SMALL_SEGMENTS = LogConfig(segment_bytes=300)  # two batches of 118 bytes each


def _offsets(log: UnifiedLog) -> tuple[int, int, int, int]:
    return log.log_start_offset, log.last_stable_offset, log.high_watermark, log.log_end_offset


# --- appending -------------------------------------------------------------------------------


def test_gives_out_offsets_and_answers_them() -> None:
    log = UnifiedLog("t", 0)
    first = log.append_as_leader(plain(count=3), 5, NOW)
    second = log.append_as_leader(plain(), 5, NOW)
    assert (first.error, first.base_offset, first.last_offset) == (OK, 0, 2)
    assert (second.base_offset, second.last_offset, second.log_start_offset) == (3, 3, 0)
    assert (first.log_append_time_ms, first.duplicate) == (-1, False)
    assert _offsets(log) == (0, 0, 0, 4)
    headers = [header for header, _ in log.iterate_batches(0)]
    assert [header.base_offset for header in headers] == [0, 3]
    assert {header.partition_leader_epoch for header in headers} == {5}


def test_a_refused_batch_leaves_no_trace() -> None:
    log = log_with(plain())
    log.delete_records_before(1)
    for batch, error, start in (
        (plain(base_offset=1), ErrorCode.INVALID_RECORD, 1),
        (plain()[:-1] + b"!", ErrorCode.CORRUPT_MESSAGE, -1),
        (plain(1_100_000), ErrorCode.MESSAGE_TOO_LARGE, -1),
        (plain(timestamp=NOW * 2), ErrorCode.INVALID_TIMESTAMP, 1),
    ):
        result = log.append_as_leader(batch, 0, NOW)
        assert (result.error, result.base_offset) == (error, -1)
        assert result.log_start_offset == start
    assert _offsets(log) == (1, 1, 1, 1)
    assert log.size_bytes == 0


def test_a_batch_larger_than_a_segment_is_refused() -> None:
    log = UnifiedLog("t", 0, LogConfig(segment_bytes=100))
    assert put(log, plain()).error is ErrorCode.RECORD_LIST_TOO_LARGE


def test_log_append_time_is_answered_and_stored() -> None:
    log = UnifiedLog("t", 0, LogConfig(log_append_time=True))
    assert put(log, plain(timestamp=5)).log_append_time_ms == NOW
    ((header, _),) = log.iterate_batches(0)
    assert (header.timestamp_type, header.max_timestamp) == (1, NOW)


@pytest.mark.parametrize("size", [10, 20_000, 200_000])
def test_what_is_stored_is_what_was_produced(size: int) -> None:
    batch = plain(size)
    for buffer in (batch, bytearray(batch), memoryview(b"__" + batch)[2:]):
        log = UnifiedLog("t", 0)
        log.append_as_leader(buffer, 0, NOW)
        stored = bytes_of(log.read(0, 1 << 20, LOG_END, min_one=True))
        assert stored[16:] == batch[16:]


def test_a_duplicate_is_answered_with_what_it_got_the_first_time() -> None:
    log = log_with(produced(9, 0, 0, count=2), produced(9, 0, 2))
    again = put(log, produced(9, 0, 0, count=2))
    assert (again.error, again.base_offset, again.last_offset) == (OK, 0, 1)
    assert (again.log_append_time_ms, again.duplicate) == (NOW, True)
    assert log.log_end_offset == 3


@pytest.mark.parametrize(
    ("epoch", "sequence", "error"),
    [
        (1, 3, OK),
        (1, 4, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
        (1, 1, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
        (2, 0, OK),
        (0, 3, ErrorCode.INVALID_PRODUCER_EPOCH),
    ],
)
def test_sequences_are_checked(epoch: int, sequence: int, error: ErrorCode) -> None:
    log = log_with(produced(9, 1, 0, count=3))
    result = put(log, produced(9, epoch, sequence))
    assert (result.error, result.log_start_offset) == (error, 0)
    assert log.log_end_offset == (4 if error is OK else 3)


def test_a_coordinator_is_not_held_to_sequences() -> None:
    log = log_with(produced(9, 1, 0))
    origin = AppendOrigin.COORDINATOR
    assert log.append_as_leader(produced(9, 1, 77), 0, NOW, origin=origin).error is OK


def test_transactions_v2_begin_at_sequence_zero() -> None:
    log = UnifiedLog("t", 0)
    batch = produced(9, 0, 5, transactional=True)
    refused = log.append_as_leader(batch, 0, NOW, transaction_version=2)
    assert refused.error is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert log.append_as_leader(batch, 0, NOW, transaction_version=1).error is OK


# --- as a follower ---------------------------------------------------------------------------


def test_a_follower_stores_what_the_leader_stamped() -> None:
    leader = log_with(plain(count=2), plain(), produced(9, 0, 0))
    data = bytes_of(leader.read(0, 1 << 20, LOG_END, min_one=True))
    follower = UnifiedLog("t", 0)
    result = follower.append_as_follower(data + data[:50], NOW)
    assert (result.error, result.base_offset, result.last_offset) == (OK, 0, 3)
    assert bytes_of(follower.read(0, 1 << 20, LOG_END, min_one=True)) == data
    assert follower.high_watermark == 0
    assert follower.latest_epoch == 0
    assert put(follower, produced(9, 0, 0)).duplicate


def test_a_follower_refuses_what_does_not_follow() -> None:
    leader = log_with(plain(), plain())
    data = bytes_of(leader.read(0, 1 << 20, LOG_END, min_one=True))
    follower = UnifiedLog("t", 0)
    corrupt = bytearray(data)
    corrupt[-1] ^= 1
    assert follower.append_as_follower(corrupt, NOW).error is ErrorCode.CORRUPT_MESSAGE
    backwards = data[118:] + data[:118]
    assert follower.append_as_follower(backwards, NOW).error is ErrorCode.OFFSET_OUT_OF_RANGE
    assert follower.append_as_follower(b"\0" * 80, NOW).error is ErrorCode.CORRUPT_MESSAGE
    assert follower.log_end_offset == 0
    assert follower.append_as_follower(b"", NOW).base_offset == -1


def test_a_follower_may_meet_gaps() -> None:
    leader = log_with(plain(), plain(), plain())
    data = bytes_of(leader.read(0, 1 << 20, LOG_END, min_one=True))
    follower = UnifiedLog("t", 0)
    assert follower.append_as_follower(data[:118] + data[236:], NOW).error is OK
    assert base_offsets(bytes_of(follower.read(1, 1 << 20, LOG_END, min_one=True))) == [2]


def test_a_follower_begins_a_segment_where_an_index_would_not_reach() -> None:
    """LogSegment.shouldRoll asks OffsetIndex.canAppendOffset, which has 31 bits for an offset."""
    follower = UnifiedLog("t", 0)
    firsts = (1 << 33, (1 << 33) + 0x7FFFFFFF, (1 << 33) + 0x80000000)
    for first in firsts:
        batch = bytearray(plain())
        batch[:8] = first.to_bytes(8, "big")
        assert follower.append_as_follower(bytes(batch), NOW).error is OK
    assert [each.base_offset for each in follower.segments()] == [firsts[0], firsts[2]]
    for first in firsts:
        found = follower.read(first, 1 << 20, LOG_END, min_one=True)
        assert base_offsets(bytes_of(found))[0] == first


# --- high watermark and epochs ---------------------------------------------------------------


def test_the_high_watermark_of_a_leader_only_rises() -> None:
    log = UnifiedLog("t", 0)
    log.append_as_leader(plain(count=5), 0, NOW)
    assert log.advance_high_watermark(3)
    assert not log.advance_high_watermark(3)
    assert not log.advance_high_watermark(2)
    assert log.high_watermark == 3
    with pytest.raises(AssertionError):
        log.advance_high_watermark(6)


def test_a_follower_takes_over_any_high_watermark_within_its_log() -> None:
    log = log_with(plain(count=5))
    assert log.set_high_watermark(2)
    assert log.high_watermark == 2
    assert not log.set_high_watermark(2)
    assert log.set_high_watermark(99)
    assert log.high_watermark == 5


def test_a_new_leader_knows_its_epoch_before_it_writes() -> None:
    log = UnifiedLog("t", 0)
    assert log.latest_epoch == -1
    assert log.end_offset_for_epoch(0) is None
    log.assign_epoch(3)
    assert log.end_offset_for_epoch(3) == (3, 0)
    assert log.end_offset_for_epoch(4) is None


def test_epochs_end_where_the_next_begins() -> None:
    log = UnifiedLog("t", 0)
    for epoch, count in ((0, 100), (1, 100)):
        put(log, plain(count=count), leader_epoch=epoch)
    assert log.end_offset_for_epoch(0) == (0, 100)
    assert log.end_offset_for_epoch(1) == (1, 200)


def test_offsets_have_places_and_so_has_the_log_end() -> None:
    log = UnifiedLog("t", 0)
    for _ in range(3):
        log.append_as_leader(plain(), 0, NOW)
    places = [
        (place.message_offset, place.segment_base_offset, place.relative_position)
        for place in (log.log_end_offset_metadata(), log.offset_metadata(2), log.offset_metadata(0))
    ]
    assert places == [(3, 0, 354), (2, 0, 236), (0, 0, 0)]


# --- cutting ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("offset", "error", "start"),
    [
        (2, OK, 2),
        (-1, OK, 4),
        (4, OK, 4),
        (0, OK, 1),
        (5, ErrorCode.OFFSET_OUT_OF_RANGE, 1),
        (-2, ErrorCode.OFFSET_OUT_OF_RANGE, 1),
    ],
)
def test_delete_records_moves_the_log_start(offset: int, error: ErrorCode, start: int) -> None:
    log = log_with(*[plain()] * 4)
    log.append_as_leader(plain(), 0, NOW)  # not below the high watermark
    log.delete_records_before(1)
    assert log.delete_records_before(offset) is error
    assert log.log_start_offset == start


def test_records_of_a_compacted_topic_cannot_be_deleted() -> None:
    log = log_with(plain(key=b"k"), config=LogConfig(compact=True, delete=False))
    assert log.delete_records_before(1) is ErrorCode.POLICY_VIOLATION


def test_segments_below_the_log_start_are_dropped_whole() -> None:
    log = log_with(*[plain()] * 7, config=SMALL_SEGMENTS)
    assert log.segment_count == 4
    log.delete_records_before(3)
    assert (log.segment_count, log.size_bytes) == (3, 5 * 118)
    log.delete_records_before(6)
    assert (log.segment_count, log.size_bytes) == (1, 118)
    assert log.offset_metadata(7).segment_base_offset == 6


def test_deleting_all_records_gives_the_active_segment_back_too() -> None:
    log = log_with(*[plain()] * 7, config=SMALL_SEGMENTS)
    log.delete_records_before(-1)
    assert (log.segment_count, log.size_bytes) == (0, 0)
    assert _offsets(log) == (7, 7, 7, 7)
    assert log.offset_metadata(7).segment_base_offset == 7
    assert put(log, plain()).base_offset == 7
    assert (log.segment_count, log.size_bytes) == (1, 118)


def test_truncation_drops_whole_batches_and_what_was_derived_from_them() -> None:
    log = log_with(plain(count=10), produced(9, 0, 0, count=5), produced(9, 0, 5, count=5))
    log.assign_epoch(4)
    assert log.truncate_to(17)
    assert _offsets(log) == (0, 17, 17, 17)
    assert log.size_bytes == sum(len(batch) for _, batch in log.iterate_batches(0))
    assert [header.base_offset for header, _ in log.iterate_batches(0)] == [0, 10]
    assert log.latest_epoch == 0
    assert put(log, produced(9, 0, 5)).base_offset == 17, "sequence 5 is the next one again"


def test_one_that_was_cut_in_its_only_batch_begins_with_a_batch_around_its_end() -> None:
    log = log_with(plain(count=3))
    log.truncate_to(1)
    assert _offsets(log)[3] == 1
    assert not log.size_bytes
    assert log.begins_within(plain(count=3))
    assert not log.begins_within(plain(count=1))
    assert not log_with(plain()).begins_within(plain(count=3)), "it has a record"


def test_truncation_past_the_end_only_forgets_epochs_that_wrote_nothing() -> None:
    log = log_with(plain())
    log.assign_epoch(8)
    assert not log.truncate_to(1)
    assert log.latest_epoch == 0


def test_truncation_over_segments_and_below_the_start() -> None:
    log = log_with(*[plain()] * 7, config=SMALL_SEGMENTS)
    log.truncate_to(3)
    assert (log.segment_count, log.log_end_offset) == (2, 3)
    put(log, plain())
    assert base_offsets(bytes_of(log.read(2, 1000, LOG_END, min_one=True))) == [2, 3]
    log.delete_records_before(2)
    assert log.truncate_to(1)
    assert _offsets(log) == (1, 1, 1, 1)
    assert log.size_bytes == 0
    assert put(log, plain()).base_offset == 1


@pytest.mark.parametrize(("kept", "end"), [(0, 1), (2, 3)])
def test_a_log_that_was_cut_within_a_batch_ends_within_the_first_of_its_leader(
    kept: int, end: int
) -> None:
    follower = log_with(*[plain()] * kept, plain(count=2))
    follower.truncate_to(end)
    wide = bytearray(plain(count=3))
    wide[:8] = kept.to_bytes(8, "big")
    assert follower.log_end_offset == end
    assert follower.append_as_follower(bytes(wide), NOW).error is ErrorCode.OFFSET_OUT_OF_RANGE
    assert follower.begins_within(bytes(wide))
    follower.truncate_to(kept)
    assert follower.append_as_follower(bytes(wide), NOW).error is ErrorCode.NONE
    assert follower.log_end_offset == kept + 3
    assert not follower.begins_within(bytes(wide))


def test_starting_over_at_an_offset() -> None:
    log = log_with(produced(9, 0, 0), plain())
    log.truncate_fully_and_start_at(100)
    assert _offsets(log) == (100, 100, 100, 100)
    assert log.end_offset_for_epoch(0) is None
    assert put(log, produced(9, 0, 7)).base_offset == 100
    assert log.offset_metadata(100).segment_base_offset == 100


# --- cost ------------------------------------------------------------------------------------


def test_an_empty_log_is_small() -> None:
    log = UnifiedLog("t", 0)
    owned = [getattr(log, name) for name in UnifiedLog.__slots__ if name != "config"]
    size = sys.getsizeof(log) + sum(sys.getsizeof(value) for value in owned)
    assert size < 1024
    assert log.producers is None


def test_iteration_gives_each_stored_batch_with_its_bytes() -> None:
    log = log_with(
        *[plain(size) for size in (10, 70_000, 20)], config=LogConfig(segment_bytes=99999)
    )
    for header, batch in log.iterate_batches(0):
        assert read_batch_header(batch).base_offset == header.base_offset
        assert len(batch) == header.size_in_bytes
    assert [header.base_offset for header, _ in log.iterate_batches(1)] == [1, 2]
    assert list(log.iterate_batches(3)) == []
    log.append_as_leader(plain(), 0, NOW)
    assert [header.base_offset for header, _ in log.iterate_batches(2, HIGH_WATERMARK)] == [2]


def test_a_follower_refuses_a_batch_that_it_has_in_part() -> None:
    leader = log_with(plain(count=3))
    data = bytes_of(leader.read(0, 1 << 20, LOG_END, min_one=True))
    follower = log_with(plain(), plain())
    refused = follower.append_as_follower(data, NOW)
    assert (refused.error, follower.log_end_offset) == (ErrorCode.OFFSET_OUT_OF_RANGE, 2)
