"""The broker's time in a test's hands, from any thread.

`MockBroker.clock` gives one. Every time-out, deadline and retention of the broker follows this
time, and so do the timestamps that it makes itself; the clients' own time-outs do not.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from datetime import timedelta
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mockbroker.cluster.cluster import Cluster
    from mockbroker.network.timekeeper import TimeKeeper
    from mockbroker.testing.bridge import Bridge, Caller

__tracebackhide__ = True

S = TypeVar("S")
T = TypeVar("T")


class ClockView(ABC, Generic[S]):
    """Each verb is one step of the broker: when it returns, all that it made due has run."""

    def __init__(self, bridge: Caller[S]) -> None:
        self._bridge = bridge

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._bridge!r}>"

    def freeze(self) -> None:
        """Stop the time: no time-out of the broker comes any more, until `advance`."""
        return self._do(lambda keeper: keeper.freeze())

    def unfreeze(self) -> None:
        """Let time pass on, from where it stands."""
        return self._do(lambda keeper: keeper.unfreeze())

    def advance(self, by: float | timedelta, *, wall: bool = True) -> None:
        """Let milliseconds, or a timedelta, pass at once; what is due on the way runs in order.

        With `wall` False the wall time, which record timestamps have, stays where it was.
        """
        by_ms = milliseconds(by)
        return self._do(lambda keeper: keeper.advance(by_ms, wall=wall))

    def jump(self, by: float | timedelta) -> None:
        """Move the wall time alone, forward or back, as a correction of the clock does."""
        by_ms = milliseconds(by)
        return self._do(lambda keeper: keeper.jump(by_ms))

    @property
    def rate(self) -> float:
        """Seconds that pass for the broker in one of the machine; set it to run faster."""
        return self._do(lambda keeper: keeper.rate)

    @rate.setter
    def rate(self, rate: float) -> None:
        self.set_rate(rate)

    def set_rate(self, rate: float) -> None:
        """Let so many seconds pass for the broker in one of the machine."""
        return self._do(lambda keeper: keeper.set_rate(rate))

    @property
    def frozen(self) -> bool:
        """Whether time stands still."""
        return self._do(lambda keeper: keeper.frozen)

    @property
    def now_ms(self) -> float:
        """Milliseconds since the broker was made."""
        return self._do(lambda keeper: keeper.now_ms())

    @property
    def wall_ms(self) -> int:
        """Milliseconds since 1970, as record timestamps have them."""
        return self._do(lambda keeper: keeper.wall_ms)

    def _do(self, verb: Callable[[TimeKeeper], T]) -> T:
        return self._bridge.call(lambda source: verb(self._timekeeper(source)))

    @abstractmethod
    def _timekeeper(self, source: S) -> TimeKeeper:
        """What keeps the time where the bridge leads."""


class LocalClockView(ClockView["Cluster"]):
    """The time of a broker in this process."""

    _bridge: Bridge

    def advance(self, by: float | timedelta, *, wall: bool = True) -> None:
        slices: list[Iterator[None]] = []

        def go_on(_: Cluster) -> bool:
            if not slices:
                slices.append(self._bridge.running.timekeeper.advancing(by_ms, wall=wall))
            return next(slices[0], False) is None

        by_ms = milliseconds(by)
        return self._bridge.repeat(go_on)

    def _timekeeper(self, source: Cluster) -> TimeKeeper:  # noqa: ARG002 -- it stands beside it
        return self._bridge.running.timekeeper


def milliseconds(time: float | timedelta) -> float:
    """A time as a number of milliseconds, or as a timedelta, in milliseconds."""
    if isinstance(time, timedelta):
        return time / timedelta(milliseconds=1)
    return time
