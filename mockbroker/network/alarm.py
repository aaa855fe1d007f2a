"""The one timer of a server: it goes off when the core wants to be stepped though nothing arrives.

`network.server` has one for all brokers of its cluster. It calls `rearm` at the end of each step;
`ring` is called back in the loop, and is a step itself.

Invariants: between steps the alarm is set at or before the core's next deadline, unless time stands
still; it may ring too early, and then finds nothing to do; after `stop` none is set.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from mockbroker.network.timekeeper import TimeKeeper


class Alarm:
    """Rings at `next_deadline`, on the core's clock. It is silent before `start`."""

    def __init__(
        self,
        timekeeper: TimeKeeper,
        next_deadline: Callable[[], float | None],
        ring: Callable[[], None],
    ) -> None:
        self._timekeeper = timekeeper
        self._next_deadline = next_deadline
        self._ring = ring
        self._loop: asyncio.AbstractEventLoop | None = None
        self._handle: asyncio.TimerHandle | None = None
        self._set_for_ms = 0.0
        timekeeper.on_change(self._retime)

    @property
    def is_set(self) -> bool:
        """Whether it will ring if nothing happens before."""
        return self._handle is not None

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Ring in this loop from now on."""
        self._loop = loop
        self.rearm()

    def stop(self) -> None:
        """Ring no more."""
        self._loop = None
        self._cancel()

    def rearm(self) -> None:
        """The step that ends here may have brought an earlier deadline."""
        deadline_ms = self._next_deadline()
        if deadline_ms is None or self._loop is None:
            return
        if self._handle is not None:
            if self._set_for_ms <= deadline_ms:
                return
            self._cancel()
        delay_seconds = self._timekeeper.delay_seconds(deadline_ms)
        if delay_seconds is None:
            return
        self._set_for_ms = deadline_ms
        self._handle = self._loop.call_later(delay_seconds, self._rang)

    def _cancel(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _retime(self) -> None:
        """Time stands still, goes on or was moved: what is set may be wrong."""
        self._cancel()
        self.rearm()

    def _rang(self) -> None:
        self._handle = None
        self._ring()
