"""When turns are over in a run, as its seed has it: what is done in slices is then done bit by bit.

Without them a step does all that there is (`node.slices`). With them a broker leaves work to later
turns as it does on the loop of a server, and what others send in between comes in between.
`World` asks `over` in place of a clock, and lets unfinished brokers go on after `pause_ms`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from random import Random

KIND: Final = "turns"
ALLOWED_MS: Final = 50.0
"""What all pauses within one answer may add up to."""


class Turns:
    """The turn of whoever has the loop now."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._lengths: tuple[int, ...] = rng.choice(((0,), (0, 1, 5), (1, 20)))
        self._pause_ms = rng.choice((0.0, 0.01, 0.1))
        self._left = 0
        self.unlimited = False
        """While somebody acts on the brokers, and waits for all that it brings."""

    def begin(self) -> None:
        """The next step has a turn of its own."""
        self._left = self._rng.choice(self._lengths)

    def over(self) -> bool:
        """Whether it is time for others."""
        self._left -= 1
        return self._left < 0 and not self.unlimited

    def pause_ms(self) -> float:
        """How long others have before the next turn."""
        return self._rng.random() * self._pause_ms
