"""Where a partition has records that a consumer could process, and where only holes.

Control records, records of aborted transactions (for those who read committed ones) and what was
compacted away are no consumer's to commit: a stable offset passes over them.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Final

from mockbroker.log.offsets import FetchIsolation
from mockbroker_protocol.records.batch import iterate_records

if TYPE_CHECKING:
    from mockbroker.log.unified_log import UnifiedLog
    from mockbroker_protocol.records.batch import BatchHeader

_NO_END: Final = (1 << 63) - 1


class Deliverable:
    """One look at a log, which must not change meanwhile; `log` None: nobody can be asked.

    Then no hole is known and no offset is too high: what is not seen now is at the next look.
    """

    __slots__ = ("_bound", "_dense_from", "_dense_up_to", "_isolation", "_log", "_offsets")

    def __init__(self, log: UnifiedLog | None, *, read_committed: bool) -> None:
        self._log = log
        self._isolation = (
            FetchIsolation.TXN_COMMITTED if read_committed else FetchIsolation.HIGH_WATERMARK
        )
        self._bound = 0 if log is None else log.end_offset(self._isolation)
        # What the batch looked at last holds: all offsets between these, or those listed.
        self._dense_from = self._dense_up_to = 0
        self._offsets: list[int] = []

    @property
    def log_start(self) -> int:
        """The first offset that there may be."""
        return 0 if self._log is None else self._log.log_start_offset

    @property
    def high_watermark(self) -> int:
        """Behind all that may be committed."""
        return _NO_END if self._log is None else self._log.high_watermark

    @property
    def led_from(self) -> int:
        """Where its leader began; 0: nobody leads.

        Until its high watermark is there, a leader does not know what consumers were given by the
        one before it (Partition.leaderEpochStartOffset, OFFSET_NOT_AVAILABLE).
        """
        log = self._log
        before = None if log is None else log.end_offset_for_epoch(log.latest_epoch - 1)
        return 0 if before is None else before[1]

    def next(self, offset: int) -> int:
        """The first record at `offset` or behind; without one the end of what may be read."""
        log = self._log
        if log is None:
            return offset
        offset = max(offset, log.log_start_offset)
        if offset >= self._bound or self._dense_from <= offset < self._dense_up_to:
            return offset
        offsets = self._offsets
        if offsets and offsets[0] <= offset <= offsets[-1]:
            return offsets[bisect_left(offsets, offset)]
        for header, batch in log.iterate_batches(offset, self._isolation):
            if header.is_control or self._is_aborted(log, header):
                continue
            if header.record_count == header.last_offset_delta + 1:
                self._dense_from = header.base_offset
                self._dense_up_to = min(header.last_offset + 1, self._bound)
                return max(offset, header.base_offset)
            offsets = self._offsets = [each.offset for each in iterate_records(batch, 0, header)]
            at = bisect_left(offsets, offset)
            if at < len(offsets):
                return min(offsets[at], self._bound)
        return self._bound

    def _is_aborted(self, log: UnifiedLog, header: BatchHeader) -> bool:
        if self._isolation is not FetchIsolation.TXN_COMMITTED or not header.is_transactional:
            return False
        base = header.base_offset
        return any(
            one.producer_id == header.producer_id and one.first_offset <= base <= one.last_offset
            for one in log.aborted_transactions(base, base + 1)
        )
