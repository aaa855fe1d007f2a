"""A fetch that waits for enough bytes, and the weighing that ends its wait.

`apis.fetch` parks it in `ReplicaManager.fetch_purgatory`. What it waits for is its `FetchWait`: a
list of partitions here, a whole session in `fetch.waiting`.

Kafka's DelayedFetch names the reasons to complete, cited at each return of `bytes_available`:
A not the leader, B the replica has gone, C unknown partition, E the reader's epoch is fenced,
F its offset is beyond the bound or on an older segment, G enough bytes, H a diverging epoch.
W is KIP-1166: our high watermark is above the one that the reader knows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from mockbroker.log.offsets import FetchIsolation
from mockbroker.purgatory.purgatory import DelayedOperation
from mockbroker.replica.fetch_params import UNKNOWN_HIGH_WATERMARK
from mockbroker.replica.hosted_log import EMPTY_LOG

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from mockbroker.replica.fetch_entry import FetchEntry
    from mockbroker.replica.fetch_params import FetchParams

_HIGH_WATERMARK: Final = FetchIsolation.HIGH_WATERMARK

COMPLETE: Final = -1
"""What `bytes_available` says when the fetch must complete whatever its bytes."""


def bytes_available(entry: FetchEntry, params: FetchParams, parked_segment: int | None) -> int:
    """What this partition adds towards the fetch's min_bytes, or COMPLETE.

    `parked_segment`: base offset of the segment where the reader stood when it was parked, None
    when no other segment was begun since.
    """
    partition = entry.partition
    if (
        partition is None  # C
        or partition.deleted  # B
        or 0 <= entry.current_leader_epoch < partition.leader_epoch  # E
        or (params.only_leader and not partition.is_leader)  # A
    ):
        return COMPLETE
    log = partition.log
    if log is None:
        log = EMPTY_LOG if entry.last_fetched_epoch < 0 else partition.open_log()
    high_watermark = log.high_watermark
    if entry.high_watermark < high_watermark:
        return COMPLETE  # W
    isolation = params.isolation
    end = high_watermark if isolation is _HIGH_WATERMARK else log.end_offset(isolation)
    offset = entry.fetch_offset
    available = 0
    if offset > end:
        return COMPLETE  # F, also when the reader stands between its bound and the log's end
    if offset < end:
        start_at, end_at = log.offset_metadata(offset), log.offset_metadata(end)
        if parked_segment is None:
            parked_segment = start_at.segment_base_offset
        if parked_segment != end_at.segment_base_offset:
            return COMPLETE  # F, on an older segment, or on a newer one that was cut off
        available = min(end_at.position_diff(start_at), entry.max_bytes)
        if available > 0 and entry.high_watermark != UNKNOWN_HIGH_WATERMARK:
            return COMPLETE  # W, its sender waits only while the answer would be empty
    if entry.last_fetched_epoch >= 0:
        known = log.end_offset_for_epoch(entry.last_fetched_epoch)
        if known is None or known[0] < entry.last_fetched_epoch or known[1] < offset:
            return COMPLETE  # H
    return available


class Reader(Protocol):
    """Who reads for a fetch, as its wait knows it: `LogReader`."""

    params: FetchParams

    def available(self, entry: FetchEntry, params: FetchParams, parked_segment: int | None) -> int:
        """`bytes_available`, or what stands for it."""

    @property
    def told_by_marks(self) -> bool:
        """Whether that changes only when the partition tells its readers so."""


class FetchWait(Protocol):
    """What a parked fetch waits for."""

    def satisfied(self) -> bool:
        """Whether the fetch may be answered now."""

    def keys(self) -> Sequence[Hashable]:
        """The purgatory's keys; a check of any of them calls `satisfied`."""

    def end(self) -> None:
        """The fetch was answered or given up; called once."""


class PartitionsWait:
    """Waits on each partition of a list, as Kafka does: each check weighs all of them."""

    __slots__ = ("_entries", "_reader", "_segments")

    def __init__(self, entries: Sequence[FetchEntry], reader: Reader) -> None:
        self._entries = entries
        self._reader = reader
        self._segments = [_segment_of(entry) for entry in entries]

    def satisfied(self) -> bool:
        params, available_of = self._reader.params, self._reader.available
        missing = params.min_bytes
        for entry, segment in zip(self._entries, self._segments, strict=True):
            available = available_of(entry, params, segment)
            if available == COMPLETE:
                return True
            missing -= available
        return missing <= 0  # G

    def keys(self) -> Sequence[Hashable]:
        return [entry.partition for entry in self._entries if entry.partition is not None]

    def end(self) -> None:
        """Nothing holds on to it."""


def _segment_of(entry: FetchEntry) -> int | None:
    partition = entry.partition
    if partition is None or partition.log is None:
        return None
    return partition.log.offset_metadata(entry.fetch_offset).segment_base_offset


class DelayedFetch(DelayedOperation):
    """One parked fetch. `answer` reads afresh and responds; it is called once.

    `on_expired`, if any, is called after an answer that the deadline brought about.
    """

    __slots__ = ("_answer", "_on_expired", "_wait")

    def __init__(
        self,
        deadline_ms: float,
        wait: FetchWait,
        answer: Callable[[], None],
        on_expired: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(deadline_ms)
        self._wait = wait
        self._answer = answer
        self._on_expired = on_expired

    def try_complete(self) -> bool:
        return self._wait.satisfied() and self.force_complete()

    def on_complete(self) -> None:
        self._wait.end()
        self._answer()

    def on_expiration(self) -> None:
        if self._on_expired is not None:
            self._on_expired()

    def give_up(self) -> None:
        if self.cancel():
            self._wait.end()
