"""ListOffsets by timestamp, inside batches, and its special timestamps."""

from __future__ import annotations

from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest

from mockbroker.config.log_config import LogConfig
from mockbroker.log import timestamp_lookup
from mockbroker.log.offsets import TimestampAndOffset
from mockbroker.log.unified_log import UnifiedLog
from mockbroker_protocol.slices import all_at_once
from tests.mockbroker.log.batches import (
    HIGH_WATERMARK,
    LOG_END,
    NOW,
    TXN_COMMITTED,
    log_with,
    plain,
    produced,
    put,
)

if TYPE_CHECKING:
    from collections.abc import Generator

LATEST, EARLIEST, MAX, EARLIEST_LOCAL, LATEST_TIERED, PENDING_UPLOAD = range(-1, -7, -1)


def _log(compression: int = 0) -> UnifiedLog:
    """Timestamps by offset: 100 110 120 | 50 60 | 200 | 130."""
    return log_with(
        plain(count=3, timestamp=100, step_ms=10, compression=compression),
        plain(count=2, timestamp=50, step_ms=10, compression=compression),
        plain(timestamp=200, compression=compression),
        plain(timestamp=130, compression=compression),
    )


@pytest.mark.parametrize("compression", [0, 1])
@pytest.mark.parametrize(
    ("timestamp", "expected"),
    [
        (0, (100, 0)),
        (100, (100, 0)),
        (101, (110, 1)),
        (120, (120, 2)),
        (121, (200, 5)),
        (200, (200, 5)),
        (201, None),
    ],
)
def test_the_first_record_in_offset_order_that_is_not_older(
    timestamp: int, expected: tuple[int, int] | None, compression: int
) -> None:
    found = _log(compression).offset_for_timestamp(timestamp)
    assert (None if found is None else (found.timestamp, found.offset)) == expected


def test_records_below_the_log_start_do_not_count() -> None:
    log = _log()
    log.delete_records_before(3)
    assert log.offset_for_timestamp(55) == TimestampAndOffset(60, 4, 0)
    assert log.offset_for_timestamp(70) == TimestampAndOffset(200, 5, 0)
    log.delete_records_before(6)
    assert log.offset_for_timestamp(131) is None


def test_the_start_may_lie_within_a_batch() -> None:
    log = _log()
    log.delete_records_before(2)
    assert log.offset_for_timestamp(100) == TimestampAndOffset(120, 2, 0)
    assert log.offset_for_timestamp(40) == TimestampAndOffset(120, 2, 0)


def test_records_at_or_behind_the_readers_bound_do_not_count() -> None:
    log = log_with(plain(timestamp=10))
    log.append_as_leader(plain(timestamp=20), 0, NOW)
    assert log.offset_for_timestamp(20) is None
    assert log.offset_for_timestamp(20, LOG_END) == TimestampAndOffset(20, 1, 0)
    assert log.offset_for_timestamp(MAX) is None
    assert log.offset_for_timestamp(MAX, LOG_END) == TimestampAndOffset(20, 1, 0)


@pytest.mark.parametrize(
    ("timestamp", "expected"),
    [
        (LATEST, TimestampAndOffset(-1, 7, 0)),
        (EARLIEST, TimestampAndOffset(-1, 0, 0)),
        (MAX, TimestampAndOffset(200, 5, 0)),
        (EARLIEST_LOCAL, TimestampAndOffset(-1, 0, 0)),
        (LATEST_TIERED, None),
        (PENDING_UPLOAD, None),
    ],
)
def test_special_timestamps(timestamp: int, expected: TimestampAndOffset | None) -> None:
    assert _log().offset_for_timestamp(timestamp) == expected


def test_special_timestamps_of_an_empty_log() -> None:
    log = UnifiedLog("t", 0)
    assert log.offset_for_timestamp(LATEST) == TimestampAndOffset(-1, 0, -1)
    assert log.offset_for_timestamp(EARLIEST) == TimestampAndOffset(-1, 0, -1)
    assert log.offset_for_timestamp(MAX) is None
    assert log.offset_for_timestamp(0) is None


def test_latest_depends_on_the_reader() -> None:
    log = log_with(plain(), produced(7, 0, 0, transactional=True))
    log.append_as_leader(plain(), 0, NOW)
    answers = [
        log.offset_for_timestamp(LATEST, i) for i in (TXN_COMMITTED, HIGH_WATERMARK, LOG_END)
    ]
    assert [answer.offset for answer in answers if answer is not None] == [1, 2, 3]


def test_earliest_names_the_epoch_of_the_log_start() -> None:
    log = UnifiedLog("t", 0)
    for epoch in (2, 5):
        put(log, plain(), leader_epoch=epoch)
    assert log.offset_for_timestamp(EARLIEST) == TimestampAndOffset(-1, 0, 2)
    log.delete_records_before(1)
    assert log.offset_for_timestamp(EARLIEST) == TimestampAndOffset(-1, 1, 5)
    found = log.offset_for_timestamp(0)
    assert found is not None
    assert found.leader_epoch == 5


def test_the_highest_timestamp_may_lie_below_the_log_start() -> None:
    log = _log()
    log.delete_records_before(6)
    assert log.offset_for_timestamp(MAX) == TimestampAndOffset(200, 5, 0)


def test_the_first_of_equal_timestamps_and_segments_wins() -> None:
    log = log_with(*[plain(timestamp=9)] * 5, config=LogConfig(segment_bytes=300))
    assert log.segment_count == 3
    assert log.offset_for_timestamp(MAX) == TimestampAndOffset(9, 0, 0)
    assert log.offset_for_timestamp(9) == TimestampAndOffset(9, 0, 0)


def test_log_append_time_counts_for_every_record() -> None:
    log = log_with(plain(count=3, timestamp=5), config=LogConfig(log_append_time=True))
    assert log.offset_for_timestamp(6) == TimestampAndOffset(NOW, 0, 0)
    assert log.offset_for_timestamp(MAX) == TimestampAndOffset(NOW, 0, 0)


def driven(
    steps: Generator[object, None, TimestampAndOffset | None],
) -> tuple[int, TimestampAndOffset | None]:
    """How often it yields, and what it finds."""
    slices = 0
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return slices, end.value
        slices += 1


@pytest.mark.parametrize("compression", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("timestamp", [115, MAX])
def test_a_long_batch_is_looked_through_in_slices(timestamp: int, compression: int) -> None:
    batch = plain(count=10, timestamp=100, step_ms=2, compression=compression)
    with patch.object(timestamp_lookup, "LOOKED_THROUGH", 3):
        steps = log_with(batch).find_timestamp(timestamp)
        slices, found = driven(steps)
    assert found == TimestampAndOffset(*((116, 8) if timestamp > 0 else (118, 9)), 0)
    assert slices == 3


def test_what_is_deleted_meanwhile_ends_the_look_through_it() -> None:
    log = _log()
    with patch.object(timestamp_lookup, "LOOKED_THROUGH", 1):
        steps = log.find_timestamp(121)
        next(steps)
        log.truncate_to(0)
        assert all_at_once(steps) is None
