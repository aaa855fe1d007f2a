"""What a parked session fetch waits for: its session, as one thing.

Parking costs the same whatever the session holds: quiet partitions add nothing and are not met,
the others were looked at by the read that led here. Afterwards each mark of a partition is noted,
and the next check weighs the noted ones only; what the others add stays as it was.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.fetch.session import FORGOTTEN, READY, SessionListener
from mockbroker.replica.delayed_fetch import COMPLETE

if TYPE_CHECKING:
    from collections.abc import Generator, Hashable, Iterable, Sequence

    from mockbroker.fetch.session import CachedPartition, FetchSession
    from mockbroker.replica.delayed_fetch import Reader

WEIGHED_AT_ONCE: Final = 1000
"""Partitions in one slice."""


class SessionWait(SessionListener):
    """The wait of one incremental fetch (a `FetchWait`).

    `rejected`: partitions that the request itself answered with an error; they end no wait.
    Invariant: `_total` is the sum of `_available`.
    """

    __slots__ = (
        "_available",
        "_left_segments",
        "_noted",
        "_reader",
        "_rejected",
        "_session",
        "_total",
        "weighed",
    )

    def __init__(
        self,
        session: FetchSession,
        reader: Reader,
        rejected: dict[CachedPartition, int],
    ) -> None:
        self._session = session
        self._reader = reader
        self._rejected = rejected
        self._available: dict[CachedPartition, int] = {}
        self._noted: dict[CachedPartition, None] | None = None
        self._left_segments: dict[CachedPartition, int] = {}
        self._total = 0
        self.weighed = 0
        """How often a partition was weighed, for those who check what a wait costs."""
        session.waits.append(self)

    def note(self, cached: CachedPartition) -> None:
        if self._noted is not None:
            self._noted[cached] = None

    def note_rolled(self, cached: CachedPartition, left_segment: int) -> None:
        self._left_segments.setdefault(cached, left_segment)

    def satisfied(self) -> bool:
        noted: Iterable[CachedPartition]
        if self._noted is None:
            noted = self._unsettled()
        else:
            noted = self._noted
        self._noted = {}
        for cached in noted:
            if self._weigh(cached):
                return True
        return self._total >= self._reader.params.min_bytes

    def weigh_in_slices(self) -> Generator[None, None, bool]:
        """As the first `satisfied`; what changes meanwhile is left to the next."""
        unsettled = list(self._unsettled())
        self._noted = {}
        for weighed, cached in enumerate(unsettled, 1):
            if self._weigh(cached):
                return True
            if not weighed % WEIGHED_AT_ONCE:
                yield
        return self._total >= self._reader.params.min_bytes

    def keys(self) -> Sequence[Hashable]:
        return (self._session,)

    def end(self) -> None:
        self._session.end_wait(self)

    def _unsettled(self) -> Iterable[CachedPartition]:
        yield from self._session.changed
        for stamp, cached in self._session.ready:
            if cached.stamp == stamp and cached.state == READY:
                yield cached

    def _weigh(self, cached: CachedPartition) -> bool:
        """Weigh one partition; True when the wait is over."""
        if cached.state == FORGOTTEN or cached in self._rejected:
            return False
        self.weighed += 1
        reader = self._reader
        available = reader.available(cached, reader.params, self._left_segments.get(cached))
        if available == COMPLETE:
            return True
        self._total += available - self._available.get(cached, 0)
        if available:
            self._available[cached] = available
        else:
            self._available.pop(cached, None)
        return False
