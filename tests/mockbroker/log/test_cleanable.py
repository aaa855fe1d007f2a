"""Whether a log is dirty enough, up to where it may be cleaned, and when to look again."""

from __future__ import annotations

from typing import Any

from mockbroker.config.log_config import LogConfig
from mockbroker.log.cleanable import cleanable, next_cleaning_ms
from mockbroker.log.cleaner import clean
from mockbroker.log.unified_log import UnifiedLog
from tests.mockbroker.log.batches import NOW, abort, log_with, plain, produced, put

HOUR = 3_600_000


def _log(count: int, **config: Any) -> UnifiedLog:
    """One batch a segment, each an hour younger than the one before; the last is of now."""
    settings = LogConfig(compact=True, delete=False, segment_bytes=130, **config)
    ages = range(count - 1, -1, -1)
    batches = [plain(key=b"k", timestamp=NOW - age * HOUR) for age in ages]
    return log_with(*batches, config=settings)


def test_an_empty_log_and_an_active_segment_are_never_due() -> None:
    assert not cleanable(UnifiedLog("t"), NOW).is_due
    assert not cleanable(_log(1), NOW).is_due
    assert next_cleaning_ms(_log(1), NOW) is None


def test_everything_below_the_active_segment_may_be_cleaned() -> None:
    found = cleanable(_log(4), NOW)
    assert (found.first_dirty_offset, found.end_offset, found.is_due) == (0, 3, True)
    assert (found.clean_bytes, found.cleanable_bytes) == (0, 3 * len(plain(key=b"k")))


def test_the_dirty_part_must_outweigh_the_ratio() -> None:
    log = _log(4, min_cleanable_dirty_ratio=0.5)
    clean(log, 0, 3, NOW)  # one batch of three is left
    put(log, plain(key=b"k"))
    found = cleanable(log, NOW)
    assert (found.first_dirty_offset, found.end_offset) == (3, 4)
    assert found.clean_bytes == found.cleanable_bytes
    assert not found.is_due
    put(log, plain(key=b"k"))
    assert cleanable(log, NOW).is_due


def test_an_open_transaction_bounds_the_cleaning() -> None:
    log = _log(2)
    put(log, produced_with_key(7))
    put(log, plain(key=b"k"))
    put(log, plain(key=b"k"))
    assert cleanable(log, NOW).end_offset == 2
    assert next_cleaning_ms(log, NOW) == NOW
    abort(log, 7)
    assert cleanable(log, NOW).end_offset == 5


def produced_with_key(producer_id: int) -> bytes:
    from mockbroker_protocol.records.batch import build_batch
    from mockbroker_protocol.records.record_codec import Record

    return build_batch(
        [Record(0, NOW, b"k", bytes(50))],
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=0,
        transactional=True,
    )


def test_young_segments_wait_for_the_minimum_lag() -> None:
    log = _log(4, min_compaction_lag_ms=2 * HOUR)
    assert cleanable(log, NOW).end_offset == 2  # the batches are 3, 2 and 1 hours old
    assert cleanable(log, NOW - 1).end_offset == 1
    assert next_cleaning_ms(log, NOW) == NOW + HOUR
    assert cleanable(log, NOW + HOUR).end_offset == 3


def test_the_maximum_lag_makes_even_a_little_dirt_due() -> None:
    log = _log(3, max_compaction_lag_ms=4 * HOUR, min_cleanable_dirty_ratio=1.0)
    assert not cleanable(log, NOW + 2 * HOUR).is_due
    assert next_cleaning_ms(log, NOW) == NOW + 2 * HOUR + 1
    assert cleanable(log, NOW + 2 * HOUR + 1).is_due


def test_a_clean_log_needs_no_look() -> None:
    log = _log(3)
    clean(log, 0, 2, NOW)
    assert not cleanable(log, NOW).is_due
    assert next_cleaning_ms(log, NOW) is None


def test_a_start_behind_the_last_cleaning_counts() -> None:
    log = log_with(*[plain(key=b"k")] * 4, config=LogConfig(compact=True, segment_bytes=130))
    log.delete_records_before(2)
    assert cleanable(log, NOW).first_dirty_offset == 2


def test_idempotent_data_without_keys_is_no_part_of_this() -> None:
    log = log_with(produced(1, 0, 0), config=LogConfig(segment_bytes=130))
    assert not cleanable(log, NOW).is_due
