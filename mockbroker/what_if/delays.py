"""How long news of a partition took to reach a reader: records, and the high watermark.

Who moves a partition tells `Moves`; each reader of it has a `Reached`, which is told what the
reader knows now. Of a reader that was there before, what moved before its first answer is no delay.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mockbroker.what_if.costs import Histogram


class Moves:
    """The offsets to which something of a partition moved, ascending, and when."""

    __slots__ = ("offsets", "times_ms")

    def __init__(self) -> None:
        self.offsets: list[int] = []
        self.times_ms: list[float] = []

    def note(self, offset: int, time_ms: float) -> None:
        """It moved to `offset`; one that is no higher is none."""
        if not self.offsets or offset > self.offsets[-1]:
            self.offsets.append(offset)
            self.times_ms.append(time_ms)


class Reached:
    """How far one reader has heard of the moves of one partition."""

    __slots__ = ("_delays", "_moves", "_next")

    def __init__(self, moves: Moves, delays: Histogram, *, from_start: bool = True) -> None:
        self._moves = moves
        self._delays = delays
        self._next = 0 if from_start else -1

    def note(self, offset: int, time_ms: float) -> None:
        """It knows of all up to `offset` from now on."""
        offsets = self._moves.offsets
        place = self._next
        if place < 0:
            self._next = bisect_right(offsets, offset)
            return
        while place < len(offsets) and offsets[place] <= offset:
            self._delays.note(time_ms - self._moves.times_ms[place])
            place += 1
        self._next = place
