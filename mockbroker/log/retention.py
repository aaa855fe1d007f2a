"""Which of a log's oldest segments are too many or too old, and their deletion.

`replica.log_upkeep` calls this for logs whose cleanup.policy has `delete` (Kafka:
UnifiedLog.deleteOldSegments). Segments go whole and from the front, the active one too when all of
it is old; the log start follows them. What is not below the high watermark stays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker.log.segment import Segment
    from mockbroker.log.unified_log import UnifiedLog


def delete_old_segments(log: UnifiedLog, now_wall_ms: int) -> bool:
    """Delete what retention.bytes and retention.ms no longer keep; whether anything was."""
    config = log.config
    if not config.delete:
        return False
    before = log.segment_count
    if config.retention_bytes >= 0:
        surplus = log.size_bytes - config.retention_bytes

        def is_surplus(segment: Segment) -> bool:
            nonlocal surplus
            if surplus - segment.size_bytes < 0:
                return False
            surplus -= segment.size_bytes
            return True

        _delete_while(log, is_surplus)
    if config.retention_ms >= 0:
        oldest = now_wall_ms - config.retention_ms
        _delete_while(log, lambda segment: segment.largest_timestamp < oldest)
    return log.segment_count < before


def next_deletion_ms(log: UnifiedLog, now_wall_ms: int) -> int | None:
    """The wall time at which a segment may have to go; None: nothing here grows too old.

    It is never late, and often early: a segment that is written to lives on. A limit of bytes
    wants a look whenever there is time, since an append that rolls nothing may break it.
    """
    config = log.config
    segments = log.segments()
    if not config.delete or not segments:
        return None
    if config.retention_bytes >= 0:
        return now_wall_ms
    if config.retention_ms < 0:
        return None
    return segments[0].largest_timestamp + config.retention_ms + 1


def _delete_while(log: UnifiedLog, is_old: Callable[[Segment], bool]) -> None:
    segments = log.segments()
    count = 0
    for index, segment in enumerate(segments, 1):
        end = segments[index].base_offset if index < len(segments) else log.log_end_offset
        if log.high_watermark < end or not is_old(segment):
            break
        count = index
    if count:
        log.delete_oldest_segments(count)
