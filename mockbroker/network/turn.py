"""How long a step may keep the loop of a server from others (see `node.slices`).

`server` has one for all its brokers: they ask `over` between two pieces of work. The stopwatch
starts when it is asked first, so that a step that is done after one piece does not read the time.

Invariant: between `begin` and `begin` it is over at most once, and stays so.
"""

from __future__ import annotations

from time import monotonic
from typing import Final

TURN_SECONDS: Final = 0.005
"""After this the loop sees to other connections; a piece that was begun is finished."""


class Turn:
    """The turn of whoever has the loop now."""

    __slots__ = ("_ends", "unlimited")

    def __init__(self) -> None:
        self._ends = 0.0
        self.unlimited = False
        """While someone in this process acts on the brokers, and waits for all that it brings."""

    def begin(self) -> None:
        """The turn of the next step begins."""
        self._ends = 0.0

    def over(self) -> bool:
        """Whether it is time for others."""
        now = monotonic()
        if not self._ends:
            self._ends = now + TURN_SECONDS
            return False
        return now >= self._ends and not self.unlimited
