"""Looks for more requests for a short while before the loop of a server sleeps.

A loop without work sleeps in the kernel until a socket is readable. To wake up from there takes
longer than most requests do where a processor went idle, or a virtual machine gave it back: a
client that waits for each answer before it asks again pays for that each time. With
`mockbroker.spin.us` the loop polls its sockets that long after each step, which keeps a processor
busy for no longer.

Invariant: no step within that time, no turn of the loop behind it.
"""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from mockbroker.config.broker import BrokerConfig

CONFIG: Final = "mockbroker.spin.us"


class Spin:
    """Keeps the loop awake for `seconds` after each step that `stepped` tells of."""

    __slots__ = ("_looking", "_loop", "_seconds", "_until")

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._until = 0.0
        self._looking = False
        self._loop: asyncio.AbstractEventLoop | None = None

    @classmethod
    def of(cls, config: BrokerConfig) -> Spin | None:
        """As configured; None: the loop sleeps when it has nothing to do."""
        microseconds = config.int(CONFIG)
        return cls(microseconds / 1e6) if microseconds else None

    def stepped(self) -> None:
        """A step ends now."""
        self._until = monotonic() + self._seconds
        if not self._looking:
            self._looking = True
            self._loop = asyncio.get_running_loop()
            self._loop.call_soon(self._look)

    def _look(self) -> None:
        """A turn of the loop, which has just looked at its sockets: another one, unless it is over.

        A loop that has something to call does not sleep.
        """
        loop = self._loop
        if loop is not None and monotonic() < self._until:
            loop.call_soon(self._look)
        else:
            self._looking = False
            self._loop = None

    def stop(self) -> None:
        """Look no more."""
        self._until = 0.0
