"""Calls to a broker elsewhere, and waits that look again and again: `remote` and `kafka` use it.

What a bridge in this process is told of after each step must be asked for here. The pauses between
two looks grow from the first to the last of `pauses_seconds`, whatever the broker's clock does.
"""

from __future__ import annotations

import asyncio
import threading
from time import monotonic
from typing import TYPE_CHECKING, Generic, TypeVar

from mockbroker.testing.bridge import WaitTimeoutError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__tracebackhide__ = True

S = TypeVar("S")
T = TypeVar("T")


class PollingBridge(Generic[S]):
    """A `bridge.Caller` that hands a client of the broker to each action, in the caller's thread.

    `journal_since` is the cursor from which on the broker's journal looks, as `Bridge` has it.
    """

    def __init__(self, source: S, pauses_seconds: tuple[float, float]) -> None:
        self.source = source
        self.journal_since = 0
        self._pauses_seconds = pauses_seconds

    def call(self, action: Callable[[S], T]) -> T:
        """Run `action`; what it raises is raised here."""
        return action(self.source)

    def wait(
        self,
        condition: Callable[[S], T | None],
        timeout_seconds: float,
        explain: Callable[[S], str],
        *,
        begin: Sequence[Callable[[S], object]] = (),
    ) -> T:
        """Look until `condition` gives something other than None, and return that.

        Raises WaitTimeoutError with what `explain` says when time is over.
        """
        for action in begin:
            action(self.source)
        deadline = monotonic() + timeout_seconds
        pause, longest = self._pauses_seconds
        while True:
            found = condition(self.source)
            if found is not None:
                return found
            left = deadline - monotonic()
            if left <= 0:
                raise WaitTimeoutError(explain(self.source))
            threading.Event().wait(min(pause, left))
            pause = min(pause * 1.5, longest)


class AsyncPollingBridge(Generic[S]):
    """The same for coroutines: each call and each wait takes a thread of the loop's pool."""

    def __init__(self, bridge: PollingBridge[S]) -> None:
        self._bridge = bridge

    @property
    def journal_since(self) -> int:
        """As `PollingBridge.journal_since`."""
        return self._bridge.journal_since

    async def call(self, action: Callable[[S], T]) -> T:
        """As `PollingBridge.call`."""
        return await asyncio.to_thread(self._bridge.call, action)

    async def wait(
        self,
        condition: Callable[[S], T | None],
        timeout_seconds: float,
        explain: Callable[[S], str],
        *,
        begin: Sequence[Callable[[S], object]] = (),
    ) -> T:
        """As `PollingBridge.wait`."""
        return await asyncio.to_thread(
            self._bridge.wait, condition, timeout_seconds, explain, begin=begin
        )
