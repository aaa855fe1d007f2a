"""A log as it was at one moment, without a copy of its records.

`replica.kept_logs` makes one before a log changes for the first time since a scope began. The
segments are shared: of those that were there only the active one is ever written to, and only
behind what the checkpoint saw, so going back means to cut that off. What retention, compaction or
DeleteRecords takes out of the log stays referenced here. The rest, offsets, producers, epochs and
aborted transactions, is copied: it does not grow with the records.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mockbroker.log.segment import SegmentMark
    from mockbroker.log.unified_log import UnifiedLog


class LogCheckpoint:
    """`log` as it is now."""

    __slots__ = ("_active", "_log")

    def __init__(self, log: UnifiedLog) -> None:
        self._log = log.copy()
        segments = log.segments()
        self._active: SegmentMark | None = segments[-1].mark() if segments else None

    def is_state_of(self, log: UnifiedLog) -> bool:
        """Whether `log` holds now what the checkpoint saw, whatever happened in between.

        Leader epochs that began at its end since do not count: they are never taken back.
        """
        kept, segments = self._log, log.segments()
        # A log that drops, rolls or replaces segments has another sequence of them.
        return (
            segments is kept.segments()
            and (not segments or segments[-1].mark() == self._active)
            and log.log_end_offset == kept.log_end_offset
            and log.high_watermark == kept.high_watermark
            and log.log_start_offset == kept.log_start_offset
            and log.first_dirty_offset == kept.first_dirty_offset
            and log.last_records_of_producers() == kept.last_records_of_producers()
        )

    def restored(self, now: UnifiedLog | None) -> UnifiedLog:
        """The log of then. Call it once: from then on it goes on by itself.

        A producer that has written on to the log of `now` is new to that of then: it lives longer
        than what it wrote, and its client cannot count back.
        """
        log = self._log
        if now is not None:
            log.forget_producers_ahead(now)
        if self._active is not None:
            log.segments()[-1].back_to(self._active)
        return log
