"""Whether a log is to be compacted now, up to where, and if not, when to look again.

`replica.log_upkeep` asks at each round of its cleaner (Kafka: LogCleanerManager). Nothing here
changes a log.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mockbroker.config.log_config import INT64_MAX

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mockbroker.log.segment import Segment
    from mockbroker.log.unified_log import UnifiedLog


class Cleanable(NamedTuple):
    """The part that may be cleaned; it is worth it when `is_due`.

    Bytes are those of whole segments: already clean ones, and dirty ones that may be cleaned.
    """

    first_dirty_offset: int
    end_offset: int
    clean_bytes: int
    cleanable_bytes: int
    is_due: bool


def cleanable(log: UnifiedLog, now_wall_ms: int) -> Cleanable:
    """What there is to clean (LogCleanerManager.cleanableOffsets, grabFilthiestCompactedLog)."""
    segments = log.segments()
    first_dirty = _first_dirty_offset(log)
    if not segments:
        return Cleanable(first_dirty, first_dirty, 0, 0, False)
    inactive = segments[:-1]
    dirty = _dirty(inactive, first_dirty)
    end = _end_offset(log, dirty, now_wall_ms, segments[-1].base_offset)
    clean_bytes = cleanable_bytes = 0
    for segment in inactive:
        if segment.base_offset >= end:
            break
        if segment in dirty:
            cleanable_bytes += segment.size_bytes
        else:
            clean_bytes += segment.size_bytes
    total = clean_bytes + cleanable_bytes
    overdue = _overdue_at(log, dirty) <= now_wall_ms
    ratio = cleanable_bytes / total if total else 0.0
    is_due = cleanable_bytes > 0 and (overdue or ratio > log.config.min_cleanable_dirty_ratio)
    return Cleanable(first_dirty, end, clean_bytes, cleanable_bytes, is_due)


def next_cleaning_ms(log: UnifiedLog, now_wall_ms: int) -> int | None:
    """The wall time at which this log may become due though nothing is appended; None: never.

    A roll of the active segment is told by the log itself.
    """
    segments = log.segments()
    first_dirty = _first_dirty_offset(log)
    dirty = _dirty(segments[:-1], first_dirty)
    if not dirty:
        return None
    if log.last_stable_offset < segments[-1].base_offset:
        return now_wall_ms  # a transaction is open, or not replicated: nobody tells when it ends
    times = []
    lag_ms = log.config.min_compaction_lag_ms
    if lag_ms > 0:
        times += [each.largest_timestamp + lag_ms for each in dirty]
    overdue_at = _overdue_at(log, dirty)
    if overdue_at < INT64_MAX:
        times.append(overdue_at)
    return min((time for time in times if time > now_wall_ms), default=None)


def _first_dirty_offset(log: UnifiedLog) -> int:
    offset = log.first_dirty_offset
    return offset if log.log_start_offset <= offset <= log.log_end_offset else log.log_start_offset


def _dirty(inactive: Sequence[Segment], first_dirty_offset: int) -> list[Segment]:
    return [
        each for each in inactive if len(each) > 0 and each.last_offset(-1) >= first_dirty_offset
    ]


def _end_offset(
    log: UnifiedLog, dirty: list[Segment], now_wall_ms: int, active_base_offset: int
) -> int:
    """Where the first segment begins that must be left alone."""
    bound = min(log.last_stable_offset, active_base_offset)
    lag_ms = log.config.min_compaction_lag_ms
    if lag_ms > 0:
        for segment in dirty:
            if segment.largest_timestamp > now_wall_ms - lag_ms:
                bound = min(bound, segment.base_offset)
                break
    end = active_base_offset
    for segment in reversed(log.segments()[:-1]):
        last_offset = segment.last_offset(-1) if len(segment) else segment.base_offset
        if segment.base_offset >= bound or last_offset >= bound:
            end = segment.base_offset
    return end


def _overdue_at(log: UnifiedLog, dirty: list[Segment]) -> int:
    """When max.compaction.lag.ms has passed for the oldest dirty segment; INT64_MAX: never."""
    lag_ms = log.config.max_compaction_lag_ms
    times = [each.first_timestamp for each in dirty if each.first_timestamp > 0]
    return min(INT64_MAX, min(times) + lag_ms + 1) if times else INT64_MAX
