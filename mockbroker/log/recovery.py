"""What of a log is on the disk, and what is left of it when the machine loses its page cache.

Nothing here is on a disk; `cluster` asks when a test lets a broker lose what Apache Kafka would not
have flushed. A log is flushed when a segment is rolled, after each flush.messages records, and at
a clean stop; what it has behind that point is gone (Kafka: UnifiedLog.maybeFlush, LogLoader). By
Kafka's defaults that is the whole active segment. flush.ms and the system's own writing back do
not count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.config.log_config import INT64_MAX

if TYPE_CHECKING:
    from mockbroker.log.unified_log import UnifiedLog


def recovery_point(log: UnifiedLog) -> int:
    """Up to where the log is flushed. Found when it is asked for: an append pays nothing."""
    segments = log.segments()
    point = log.flushed_offset
    if segments:
        point = max(point, segments[-1].base_offset)
    messages = log.config.flush_messages
    if messages < INT64_MAX:
        for header, _ in log.iterate_batches(point):
            end = header.last_offset + 1
            if end - point >= messages:
                point = end
    return point


def flush(log: UnifiedLog) -> None:
    """All of it is on the disk (Kafka: LogManager.shutdown)."""
    log.flushed_offset = log.log_end_offset


def lose_unflushed(log: UnifiedLog) -> None:
    """Drop what is behind the recovery point, and what was known of it."""
    point = log.flushed_offset = recovery_point(log)
    if point < log.log_start_offset:  # LogLoader.load: the log begins anew where it began
        log.truncate_fully_and_start_at(log.log_start_offset)
    else:
        log.truncate_to(point)
