"""What a member knows of one partition that it shares: what is done, and by whom.

What it acknowledged and has not committed is kept as ranges. Before they are sent, two of them are
glued where all between them is known to be done: committed by others, or no record at all. What
lies between and is not known belongs to somebody else, and is never claimed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mockbroker.coop.interval_set import IntervalSet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mockbroker.coop.assignor import Ranges


class Committed(NamedTuple):
    """How a group stands in a partition: the first offset that is not done, and what is beyond."""

    stable: int
    ranges: tuple[tuple[int, int], ...]
    pending: tuple[tuple[int, int], ...] = ()


class Share:
    """A partition, or the ranges of its keys that a member has; no ranges are all of it."""

    def __init__(self, ranges: Ranges) -> None:
        self.ranges = ranges
        self.position = -1
        """Where the next fetch begins; -1: not known yet."""
        self.stable = -1
        self.acked = IntervalSet()
        """Done here and not committed."""
        self._known = IntervalSet()
        """Done by whoever, from the stable offset on."""

    def begin(self, standing: Committed) -> None:
        """Take what is committed for known, and go on at the stable offset."""
        self._advance(standing.stable)
        for each in (*standing.ranges, *standing.pending):
            self.note_done(*each)
        self.position = standing.stable

    def standing(self) -> Committed:
        """How the group stands, as far as is known here."""
        return Committed(self.stable, tuple(self._known))

    def is_done(self, offset: int) -> bool:
        """Whether an offset is committed already, as far as is known here."""
        return offset < self.stable or self._known.covers(offset, offset)

    def note_done(self, first: int, last: int) -> None:
        """These offsets are committed, or hold no record for anybody."""
        if last >= self.stable:
            self._known.add(max(first, self.stable, 0), last)

    def ack(self, first: int, last: int) -> None:
        """These are done here."""
        if last >= self.stable:
            self.acked.add(max(first, self.stable, 0), last)

    def to_commit(self, most: int) -> list[tuple[int, int]]:
        """The lowest ranges to commit, so many at most; those with only known between are glued."""
        glued: list[tuple[int, int]] = []
        for first, last in self.acked:
            if glued and self._known.covers(glued[-1][1] + 1, first - 1):
                glued[-1] = glued[-1][0], last
                continue
            if len(glued) == most:
                break
            glued.append((first, last))
        return glued

    def committed(self, ranges: Sequence[tuple[int, int]], stable: int) -> None:
        """The broker took these, and says how far all is done."""
        takes_all = len(ranges) == len(self.acked) and list(self.acked) == ranges
        if takes_all:
            self.acked = IntervalSet()
        for first, last in ranges:
            if not takes_all:
                self.acked.discard(first, last)
            if last >= stable:
                self.note_done(first, last)
        self._advance(stable)

    def lost(self, first: int, last: int) -> None:
        """Somebody else has these now: they are not to be committed here."""
        self.acked.discard(first, last)

    def _advance(self, stable: int) -> None:
        if stable > self.stable:
            self.stable = stable
            self.acked.discard(0, stable - 1)
            self._known.discard(0, stable - 1)
