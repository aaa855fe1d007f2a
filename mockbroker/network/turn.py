"""How long a step may keep the loop of a server from others (see `node.slices`).

`server` has one for all its brokers: they ask `over` between two pieces of work. The stopwatch
starts when it is asked first, so that a step that is done after one piece does not read the time.

Invariant: once over it stays so, until `ends` says that the next one begins.
"""

from __future__ import annotations

from time import monotonic
from typing import Final

TURN_SECONDS: Final = 0.005
"""After this the loop sees to other connections; a piece that was begun is finished."""


class Turn:
    """The turn of whoever has the loop now."""

    __slots__ = ("ends", "unlimited")

    def __init__(self) -> None:
        self.ends = 0.0
        """When it is over; 0 is set where the turn of the next step begins."""
        self.unlimited = False
        """While someone in this process acts on the brokers, and waits for all that it brings."""

    def over(self) -> bool:
        """Whether it is time for others."""
        now = monotonic()
        if not self.ends:
            self.ends = now + TURN_SECONDS
            return False
        return now >= self.ends and not self.unlimited
