"""Old segments go from the front, by bytes and by age."""

from __future__ import annotations

from typing import Any

from mockbroker.config.log_config import LogConfig
from mockbroker.log.retention import delete_old_segments, next_deletion_ms
from mockbroker.log.unified_log import UnifiedLog
from tests.mockbroker.log.batches import NOW, abort, log_with, plain, produced, put

HOUR = 3_600_000
TWO_A_SEGMENT = 300  # batches of 118 bytes


def _log(*ages_ms: int, **config: Any) -> UnifiedLog:
    batches = [plain(timestamp=NOW - age) for age in ages_ms]
    return log_with(*batches, config=LogConfig(segment_bytes=TWO_A_SEGMENT, **config))


def test_segments_go_when_their_newest_record_is_too_old() -> None:
    log = _log(4 * HOUR, 3 * HOUR, 2 * HOUR, 1000, 0, retention_ms=HOUR)
    assert log.segment_count == 3
    assert delete_old_segments(log, NOW)
    assert (log.log_start_offset, log.segment_count) == (2, 2)
    assert not delete_old_segments(log, NOW)
    assert not delete_old_segments(log, NOW - 1000 + HOUR)  # as old as allowed
    assert delete_old_segments(log, NOW - 1000 + HOUR + 1)
    assert log.log_start_offset == 4


def test_the_active_segment_goes_too_and_offsets_go_on() -> None:
    log = _log(0, 0, 0, retention_ms=HOUR)
    assert delete_old_segments(log, NOW + HOUR + 1)
    assert (log.log_start_offset, log.high_watermark, log.log_end_offset) == (3, 3, 3)
    assert (log.segment_count, log.size_bytes) == (0, 0)
    assert put(log, plain()).base_offset == 3
    assert log.log_end_offset_metadata().segment_base_offset == 3


def test_the_surplus_of_bytes_is_deleted_in_whole_segments() -> None:
    for limit, start in ((118 * 5, 0), (118 * 4, 0), (118 * 3, 2), (118 * 2, 2), (118, 4), (0, 5)):
        log = _log(0, 0, 0, 0, 0, retention_bytes=limit, retention_ms=-1)
        assert delete_old_segments(log, NOW) == (start > 0)
        assert log.log_start_offset == start, limit


def test_what_is_not_replicated_stays() -> None:
    log = UnifiedLog("t", 0, LogConfig(segment_bytes=TWO_A_SEGMENT, retention_ms=HOUR))
    for _ in range(4):
        log.append_as_leader(plain(), 0, NOW)
    log.advance_high_watermark(3)
    assert delete_old_segments(log, NOW + 2 * HOUR)
    assert log.log_start_offset == 2


def test_without_the_delete_policy_nothing_goes() -> None:
    config = LogConfig(compact=True, delete=False, retention_ms=1, retention_bytes=0)
    log = log_with(plain(key=b"k"), config=config)
    assert not delete_old_segments(log, NOW + HOUR)
    assert next_deletion_ms(log, NOW) is None


def test_limits_below_zero_keep_all() -> None:
    log = _log(100 * HOUR, retention_ms=-1)
    assert not delete_old_segments(log, NOW + 10_000 * HOUR)
    assert next_deletion_ms(log, NOW) is None


def test_records_without_a_time_age_by_when_they_were_written() -> None:
    log = log_with(plain(timestamp=-1), config=LogConfig(retention_ms=HOUR))
    assert not delete_old_segments(log, NOW + HOUR)
    assert delete_old_segments(log, NOW + HOUR + 1)


def test_says_when_to_look_again() -> None:
    assert next_deletion_ms(UnifiedLog("t"), NOW) is None
    log = _log(1000, 0, retention_ms=HOUR)
    assert next_deletion_ms(log, NOW) == NOW + HOUR + 1
    assert next_deletion_ms(_log(0, retention_bytes=1), NOW + 7) == NOW + 7


def test_an_aborted_transaction_goes_with_its_segment() -> None:
    log = log_with(
        produced(7, 0, 0, transactional=True), config=LogConfig(segment_bytes=130, retention_ms=1)
    )
    abort(log, 7)
    put(log, plain(timestamp=NOW + HOUR))
    assert len(log.aborted_transactions(0, 10)) == 1
    delete_old_segments(log, NOW + 2)
    assert log.log_start_offset == 2
    assert log.aborted_transactions(0, 10) == []
