"""What one read returns: the size cases (E) and offset cases (H) of the fetch path, on a log."""

from __future__ import annotations

import pytest

from mockbroker.config.log_config import LogConfig
from mockbroker.log.unified_log import UnifiedLog
from mockbroker_protocol.errors import ErrorCode
from tests.mockbroker.log.batches import (
    HIGH_WATERMARK,
    LOG_END,
    NOW,
    TXN_COMMITTED,
    base_offsets,
    bytes_of,
    log_with,
    plain,
)

UNLIMITED = 0x7FFFFFFF
SIZE_OF_TWO = len(plain(count=2))


def _serve(logs: list[tuple[UnifiedLog, int, int]], max_bytes: int) -> list[int | ErrorCode]:
    """Bytes per partition, the budget handed on as ReplicaManager.readFromLog does."""
    served: list[int | ErrorCode] = []
    min_one = True
    for log, offset, partition_max_bytes in logs:
        limit = min(partition_max_bytes, max_bytes)
        result = log.read(offset, limit, HIGH_WATERMARK, min_one)
        assert len(bytes_of(result)) == result.size_bytes
        if result.size_bytes:
            min_one = False
            max_bytes = max(0, max_bytes - result.size_bytes)
        served.append(result.size_bytes if result.error is ErrorCode.NONE else result.error)
    return served


def _fixture() -> list[UnifiedLog]:
    """p0 two batches of 118, p1 one of 1070, p2 none, p3 three of 118, p4 one of 118."""
    return [
        log_with(*[plain(50)] * 2),
        log_with(plain(1000)),
        log_with(),
        log_with(*[plain(50)] * 3),
        log_with(plain(50)),
    ]


@pytest.mark.parametrize(
    ("max_bytes", "expected"),
    [
        (1, [118, 0, 0, 0, 0]),
        (117, [118, 0, 0, 0, 0]),
        (118, [118, 0, 0, 0, 0]),
        (119, [119, 0, 0, 0, 0]),
        (236, [236, 0, 0, 0, 0]),
        (400, [236, 0, 0, 164, 0]),
        (1500, [236, 1070, 0, 194, 0]),
        (0, [118, 0, 0, 0, 0]),
        (UNLIMITED, [236, 1070, 0, 354, 118]),
    ],
)
def test_the_budget_is_spent_in_order_and_cuts_batches(max_bytes: int, expected: list[int]) -> None:
    assert _serve([(log, 0, UNLIMITED) for log in _fixture()], max_bytes) == expected


@pytest.mark.parametrize(
    ("order", "caps", "max_bytes", "expected"),
    [
        ([2, 1, 0, 3], [UNLIMITED] * 4, 300, [0, 1070, 0, 0]),
        ([0, 1, 2, 3, 4], [10] * 5, UNLIMITED, [118, 0, 0, 0, 0]),
        ([1, 0, 3], [10] * 3, UNLIMITED, [1070, 0, 0]),
        ([0, 1, 2, 3, 4], [150] * 5, UNLIMITED, [150, 0, 0, 150, 118]),
        ([0, 3], [0, 500], UNLIMITED, [118, 354]),
    ],
)
def test_partition_limits(
    order: list[int], caps: list[int], max_bytes: int, expected: list[int]
) -> None:
    logs = _fixture()
    wanted = [(logs[index], 0, cap) for index, cap in zip(order, caps, strict=True)]
    assert _serve(wanted, max_bytes) == expected


def test_an_empty_or_failing_partition_passes_the_guarantee_on() -> None:
    p0, _, _, p3, p4 = _fixture()
    assert _serve([(p0, 2, 1), (p3, 0, 1), (p4, 0, 1)], UNLIMITED) == [0, 118, 0]
    wanted = [(p0, 99, 1), (p3, 0, 1), (p4, 0, 1)]
    assert _serve(wanted, UNLIMITED) == [ErrorCode.OFFSET_OUT_OF_RANGE, 118, 0]


def test_a_negative_limit_is_an_error_only_where_there_is_data() -> None:
    log = log_with(plain())
    assert log.read(0, -1, HIGH_WATERMARK, min_one=True).error is ErrorCode.UNKNOWN_SERVER_ERROR
    assert log.read(1, -1, HIGH_WATERMARK, min_one=True).error is ErrorCode.NONE


def test_an_offset_within_a_batch_gets_the_whole_batch() -> None:
    log = log_with(plain(count=10), plain(count=10))
    first, second = (len(batch) for _, batch in log.iterate_batches(0))
    whole = log.read(5, UNLIMITED, HIGH_WATERMARK, min_one=True)
    assert base_offsets(bytes_of(whole)) == [0, 10]
    assert log.read(5, 10, HIGH_WATERMARK, min_one=True).size_bytes == first
    assert log.read(15, UNLIMITED, HIGH_WATERMARK, min_one=True).size_bytes == second
    assert whole.offset_metadata.message_offset == 5
    assert whole.offset_metadata.relative_position == 0


def test_a_first_batch_that_does_not_fit_is_not_cut() -> None:
    log = log_with(plain(), plain())
    incomplete = log.read(1, 117, HIGH_WATERMARK, min_one=False)
    assert (incomplete.size_bytes, incomplete.first_entry_incomplete) == (0, True)
    assert incomplete.offset_metadata.relative_position == 118
    spent = log.read(1, 0, HIGH_WATERMARK, min_one=False)
    assert (spent.size_bytes, spent.first_entry_incomplete) == (0, False)
    assert log.read(0, 118, HIGH_WATERMARK, min_one=False).size_bytes == 118


def test_the_tail_of_a_cut_read_may_be_shorter_than_a_header() -> None:
    log = log_with(plain(), plain(49))
    data = bytes_of(log.read(0, 119, HIGH_WATERMARK, min_one=True))
    assert len(data) == 119
    assert base_offsets(data) == [0]


def test_a_read_stays_within_one_segment() -> None:
    log = log_with(*[plain()] * 5, config=LogConfig(segment_bytes=300))
    assert [
        base_offsets(bytes_of(log.read(offset, UNLIMITED, LOG_END, min_one=True)))
        for offset in range(5)
    ] == [[0, 1], [1], [2, 3], [3], [4]]


def test_old_and_new_record_times_do_not_share_a_segment() -> None:
    week_ms = 7 * 86_400_000
    log = log_with(plain(timestamp=NOW - week_ms - 1), plain(), plain(timestamp=NOW))
    assert log.segment_count == 2
    assert log.read(0, UNLIMITED, LOG_END, min_one=True).size_bytes == 118


@pytest.mark.parametrize(
    ("offset", "isolation", "expected"),
    [(3, LOG_END, 236), (3, HIGH_WATERMARK, 118), (4, HIGH_WATERMARK, 0), (4, LOG_END, 118)],
)
def test_nothing_at_or_behind_the_bound_is_read(offset: int, isolation: int, expected: int) -> None:
    log = log_with(*[plain()] * 4)
    log.append_as_leader(plain(), 0, NOW)
    bound = LOG_END if isolation == LOG_END else HIGH_WATERMARK
    assert log.read(offset, UNLIMITED, bound, min_one=True).size_bytes == expected


def test_a_bound_within_a_batch_holds_the_whole_batch_back() -> None:
    log = UnifiedLog("t", 0)
    log.append_as_leader(plain(), 0, NOW)
    log.append_as_leader(plain(count=5), 0, NOW)
    log.advance_high_watermark(3)
    assert log.read(0, UNLIMITED, HIGH_WATERMARK, min_one=True).size_bytes == 118
    assert log.read(2, UNLIMITED, HIGH_WATERMARK, min_one=True).size_bytes == 0


@pytest.mark.parametrize("isolation", [LOG_END, HIGH_WATERMARK, TXN_COMMITTED])
@pytest.mark.parametrize(
    ("offset", "error"),
    [
        (0, ErrorCode.OFFSET_OUT_OF_RANGE),  # below the log start
        (1, ErrorCode.NONE),
        (3, ErrorCode.NONE),
        (4, ErrorCode.NONE),  # between high watermark and log end: nothing, no error
        (5, ErrorCode.NONE),
        (6, ErrorCode.OFFSET_OUT_OF_RANGE),
        (-1, ErrorCode.OFFSET_OUT_OF_RANGE),
    ],
)
def test_which_offsets_are_in_range(offset: int, error: ErrorCode, isolation: int) -> None:
    log = log_with(*[plain()] * 3)
    for _ in range(2):
        log.append_as_leader(plain(), 0, NOW)
    log.delete_records_before(1)
    bound = (LOG_END, HIGH_WATERMARK, TXN_COMMITTED)[isolation]
    result = log.read(offset, UNLIMITED, bound, min_one=True)
    assert result.error is error
    if error is ErrorCode.NONE:
        assert result.offset_metadata.message_offset == offset
        assert (result.aborted is None) == (bound is not TXN_COMMITTED)


def test_idle_reads_share_one_answer_until_something_happens() -> None:
    log = log_with(plain())
    idle = log.read(1, 100, HIGH_WATERMARK, min_one=True)
    assert log.read(1, 999, HIGH_WATERMARK, min_one=False) is idle
    assert log.read(0, 100, HIGH_WATERMARK, min_one=True).size_bytes == 118
    log.append_as_leader(plain(), 0, NOW)
    assert log.read(1, 100, HIGH_WATERMARK, min_one=True).size_bytes == 0
    log.advance_high_watermark(2)
    assert log.read(1, 100, HIGH_WATERMARK, min_one=True).size_bytes == 118
    log.truncate_to(1)
    log.delete_records_before(1)
    assert log.read(1, 100, HIGH_WATERMARK, min_one=True).error is ErrorCode.NONE
    log.truncate_fully_and_start_at(2)
    assert log.read(1, 1, HIGH_WATERMARK, min_one=True).error is ErrorCode.OFFSET_OUT_OF_RANGE


def test_many_small_batches_come_in_few_chunks_without_a_copy() -> None:
    log = log_with(*[plain()] * 600)
    result = log.read(0, 1 << 20, HIGH_WATERMARK, min_one=True)
    assert result.size_bytes == 600 * 118
    assert len(result.chunks) < 12
    assert all(isinstance(chunk, memoryview) for chunk in result.chunks)


def test_what_was_read_stays_as_it_was() -> None:
    log = log_with(plain())
    held = log.read(0, 1000, HIGH_WATERMARK, min_one=True)
    before = bytes_of(held)
    log.truncate_to(0)
    for _ in range(5):
        log.append_as_leader(plain(49), 0, NOW)
    assert bytes_of(held) == before


def test_a_gap_is_skipped() -> None:
    data = bytes_of(log_with(*[plain()] * 4).read(0, UNLIMITED, LOG_END, min_one=True))
    log = UnifiedLog("t", 0)
    log.append_as_follower(data[:118] + data[3 * 118 :], NOW)
    assert log.offset_metadata(2).relative_position == 118


@pytest.mark.parametrize(
    ("offset", "max_bytes", "expected"),
    [
        (0, 1, 2),
        (1, 1, 2),
        (0, 250, 2),
        (0, UNLIMITED, 4),
        (2, UNLIMITED, 4),
        (5, UNLIMITED, 6),
        (4, 0, 6),
        (6, UNLIMITED, -1),
        (7, UNLIMITED, -1),
    ],
)
def test_a_read_tells_the_offset_behind_its_last_whole_batch(
    offset: int, max_bytes: int, expected: int
) -> None:
    log = log_with(*[plain(count=2)] * 4, config=LogConfig(segment_bytes=2 * SIZE_OF_TWO + 1))
    log.set_high_watermark(6)
    assert log.read(offset, max_bytes, HIGH_WATERMARK, min_one=True).next_offset == expected


def test_a_whole_batch_before_a_cut_one_counts() -> None:
    log = log_with(*[plain(count=2)] * 3)
    reads = [log.read(0, size, LOG_END, min_one=True) for size in range(3 * SIZE_OF_TWO + 1)]
    assert [found.next_offset for found in reads] == [
        max(size // SIZE_OF_TWO, 1) * 2 for size in range(3 * SIZE_OF_TWO + 1)
    ]


def test_an_idle_read_after_a_restart_lies_where_the_log_begins_anew() -> None:
    log = log_with(plain(), plain())
    assert log.read(2, UNLIMITED, HIGH_WATERMARK, True).offset_metadata.segment_base_offset == 0
    log.truncate_fully_and_start_at(2)
    assert log.read(2, UNLIMITED, HIGH_WATERMARK, True).offset_metadata.segment_base_offset == 2


def test_a_time_is_found_below_the_bound_of_the_reader() -> None:
    log = log_with(plain(timestamp=NOW))
    log.append_as_leader(plain(timestamp=NOW + 5), 0, NOW)
    assert log.offset_for_timestamp(NOW + 1, HIGH_WATERMARK) is None
    found = log.offset_for_timestamp(NOW + 1, LOG_END)
    assert found is not None
    assert found.offset == 1
