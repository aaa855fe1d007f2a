"""A log keeps what was flushed: rolled segments, flush.messages, all of it at a clean end."""

from __future__ import annotations

import pytest

from mockbroker.config.log_config import INT64_MAX, LogConfig
from mockbroker.log import recovery
from mockbroker.log.unified_log import UnifiedLog
from tests.mockbroker.log.batches import NOW, plain


def log_of(
    values: int, segment_bytes: int = 1 << 30, flush_messages: int = INT64_MAX
) -> UnifiedLog:
    config = LogConfig(segment_bytes=segment_bytes, flush_messages=flush_messages)
    log = UnifiedLog("t", 0, config)
    for _ in range(values):
        append(log)
    return log


def append(log: UnifiedLog, epoch: int = 0) -> None:
    log.append_as_leader(plain(), epoch, NOW)


def test_by_kafkas_defaults_the_active_segment_is_lost() -> None:
    log = log_of(5)
    log.advance_high_watermark(3)
    recovery.lose_unflushed(log)
    assert (log.log_start_offset, log.high_watermark, log.log_end_offset) == (0, 0, 0)
    append(log)
    assert log.log_end_offset == 1


def test_a_rolled_segment_is_flushed() -> None:
    log = log_of(10, segment_bytes=300)
    active = log.segments()[-1].base_offset
    assert 0 < active < 10
    assert recovery.recovery_point(log) == active
    recovery.lose_unflushed(log)
    assert log.log_end_offset == active
    assert [header.last_offset for header, _ in log.iterate_batches(0)] == list(range(active))


@pytest.mark.parametrize(("messages", "kept"), [(1, 7), (2, 6), (3, 6), (7, 7), (8, 0)])
def test_so_many_messages_are_flushed_together(messages: int, kept: int) -> None:
    assert recovery.recovery_point(log_of(7, flush_messages=messages)) == kept


def test_what_was_flushed_once_stays_so_until_it_is_cut_off() -> None:
    log = log_of(4)
    recovery.flush(log)
    append(log)
    assert recovery.recovery_point(log) == 4
    assert recovery.recovery_point(log.copy()) == 4
    log.truncate_to(2)
    append(log)
    assert recovery.recovery_point(log) == 2


def test_leader_epochs_and_producers_of_what_is_lost_are_forgotten() -> None:
    log = log_of(2)
    recovery.flush(log)
    append(log, epoch=3)
    recovery.lose_unflushed(log)
    assert log.latest_epoch == 0


def test_a_log_that_lost_all_behind_its_start_begins_there_anew() -> None:
    log = log_of(5)
    log.advance_high_watermark(5)
    log.delete_records_before(4)
    recovery.lose_unflushed(log)
    assert (log.log_start_offset, log.high_watermark, log.log_end_offset) == (4, 4, 4)
