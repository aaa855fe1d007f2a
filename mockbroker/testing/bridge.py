"""From any thread into the broker's event loop, and back with a result or a reason.

`mock_broker` makes one `Bridge` a start; the views call `call` to look or act, and `wait` for
something to become true; `AsyncBridge` has the same two as coroutines. A call is one step of the
core. A wait is looked at after every step of the broker from then on: nothing polls, nothing
sleeps. Time-outs are real seconds, whatever the broker's own clock does.

Invariants: each call and each wait ends exactly once, with its result, a time-out, or
`RuntimeError` because the broker stopped, also when the stop races it; the broker calls `_stepped`
only while something waits.
"""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, cast

from mockbroker.testing.forked import unwatch, watch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mockbroker.cluster.cluster import Cluster
    from mockbroker.server.launch import RunningBroker

__tracebackhide__ = True

S_co = TypeVar("S_co", covariant=True)
T = TypeVar("T")

NOT_RUNNING = "the broker is not running: use it in `with` or `async with`"
STOPPED = "the broker was stopped meanwhile"
IN_PARENT = (
    "this process is a fork: the broker lives in its parent, process {}; here it is reached over"
    " TCP by its bootstrap_servers"
)


class Caller(Protocol[S_co]):
    """What a view calls: a `Bridge`, or the like of it to a broker elsewhere.

    What it leads to is handed to each action: the cluster, or a client of it.
    """

    def call(self, action: Callable[[S_co], T]) -> T:
        """Run `action`; what it raises is raised here."""

    def wait(
        self,
        condition: Callable[[S_co], T | None],
        timeout_seconds: float,
        explain: Callable[[S_co], str],
        *,
        begin: Sequence[Callable[[S_co], object]] = (),
    ) -> T:
        """Block until `condition` gives something other than None, and return that."""


class WaitTimeoutError(AssertionError, TimeoutError):
    """What was waited for did not happen in time; the message says what there is instead."""


class _Waiter(Generic[T]):
    """One wait; all but `future` is touched in the loop only."""

    __slots__ = ("begin", "condition", "explain", "future", "then", "timeout_seconds", "timer")

    def __init__(
        self,
        condition: Callable[[Cluster], Any],
        timeout_seconds: float,
        explain: Callable[[Cluster], str],
        begin: Sequence[Callable[[Cluster], object]] = (),
        then: Callable[[Cluster], T] | None = None,
    ) -> None:
        self.condition = condition
        self.timeout_seconds = timeout_seconds
        self.explain = explain
        self.begin = begin
        self.then = then
        self.future: Future[T] = Future()
        self.timer: asyncio.TimerHandle | None = None


class Bridge:
    """Calls into one running broker."""

    def __init__(self, running: RunningBroker) -> None:
        self.running = running
        self.journal_since = 0
        """The cursor from which on `MockBroker.journal` looks: that of a scope, or of a reset."""
        self._lock = threading.Lock()
        self._open: set[Future[Any]] = set()
        self._closed: str | None = None
        """Why no call is taken any more."""
        self._waiters: list[_Waiter[Any]] = []
        self._unwatch: Callable[[], None] | None = None
        watch(self)

    def __repr__(self) -> str:
        return "a broker that stopped" if self._closed else self.running.bootstrap_servers

    # -- from any thread -------------------------------------------------------------------

    def call(self, action: Callable[[Cluster], T]) -> T:
        """Run `action` as a step of the broker; what it raises is raised here."""
        if self.is_inside():
            return self.act(action)
        return _result(self.submit(action))

    def act(self, action: Callable[[Cluster], T]) -> T:
        """What `call` does inside the broker's own loop."""
        try:
            return self.running.act(action)
        except Exception as error:  # noqa: BLE001 -- raised again, shorter
            raise for_caller(error) from error.__cause__

    def repeat(self, action: Callable[[Cluster], bool]) -> None:
        """Run `action`, each time as a step, until it gives False; clients are served between.

        Called in the broker's own loop all of it is one piece.
        """
        while self.call(action):
            pass

    def wait(
        self,
        condition: Callable[[Cluster], T | None],
        timeout_seconds: float,
        explain: Callable[[Cluster], str],
        *,
        begin: Sequence[Callable[[Cluster], object]] = (),
    ) -> T:
        """Block until `condition` gives something other than None, and return that.

        Before it is looked at for the first time, each of `begin` is one step of the broker.
        `explain` says, when time is over, what was waited for and what there is. Raises
        WaitTimeoutError then, and what `condition` or one of `begin` raises.
        """
        return self._block(_Waiter[T](condition, timeout_seconds, explain, begin))

    def act_when(
        self,
        ready: Callable[[Cluster], bool],
        action: Callable[[Cluster], T],
        timeout_seconds: float,
        explain: Callable[[Cluster], str],
        *,
        begin: Callable[[Cluster], object],
    ) -> T:
        """Run `begin` as a step, and once it is `ready` `action` as another; returns what it gives.

        Raises as `wait` does, and what `action` raises.
        """
        waiter = _Waiter[T](lambda c: ready(c) or None, timeout_seconds, explain, (begin,), action)
        return self._block(waiter)

    def _block(self, waiter: _Waiter[T]) -> T:
        if self.is_inside():
            for action in waiter.begin:
                self.running.act(action)
            found: Any = self.running.act(waiter.condition) if waiter.begin else None
            if found is not None:
                return self.running.act(waiter.then) if waiter.then else cast("T", found)
            message = "this would block the broker's own event loop: await the same of `broker.aio`"
            raise RuntimeError(message)
        future = self.submit_wait(waiter)
        try:
            return _result(future)
        except BaseException:
            self.forget(future)
            raise

    def ports(self) -> set[int]:
        """Those that the broker listens on."""
        return self.running.ports()

    def leave_to(self, parent: int) -> None:
        """This is a copy in a forked child; the broker lives in the process `parent`."""
        self._lock = threading.Lock()  # somebody may have had it when this process was made
        self._open = set()
        self._closed = IN_PARENT.format(parent)

    @property
    def is_copy(self) -> bool:
        """Whether `leave_to` was called."""
        return self._closed not in (None, NOT_RUNNING)

    def close(self) -> None:
        """The broker has stopped: whoever still waits is told."""
        unwatch(self)
        with self._lock:
            self._closed = self._closed or NOT_RUNNING
            left, self._open = self._open, set()
        for future in left:
            if future.set_running_or_notify_cancel():
                future.set_exception(RuntimeError(STOPPED))

    # -- on the way --------------------------------------------------------------------------

    def submit(self, action: Callable[[Cluster], T]) -> Future[T]:
        """What `call` does, from now on; a future that is done in the broker's loop."""
        future: Future[T] = Future()

        def run() -> None:
            if self._take(future):
                self._finish(future, action)

        self._post(future, run)
        return future

    def submit_wait(self, waiter: _Waiter[T]) -> Future[T]:
        """What `wait` does; `forget` the future when nobody waits for it any more."""

        def start() -> None:
            try:
                for action in waiter.begin:
                    self.running.act(action)
            except BaseException as error:  # noqa: BLE001 -- raised again where it was asked for
                if self._take(waiter.future):
                    waiter.future.set_exception(for_caller(error))
                return
            if not self._settle(waiter):
                loop = self.running.loop
                seconds = max(0.0, waiter.timeout_seconds)
                waiter.timer = loop.call_later(seconds, self._expire, waiter)
                self._waiters.append(waiter)
                if self._unwatch is None:
                    self._unwatch = self.running.watch_steps(self._stepped)

        self._post(waiter.future, start)
        return waiter.future

    def forget(self, future: Future[Any]) -> None:
        """Nobody wants to know any more."""
        with self._lock:
            self._open.discard(future)

    def is_inside(self) -> bool:
        """Whether this is the broker's own loop; the rest of the loop then stands still."""
        if self._closed:
            raise RuntimeError(self._closed)
        try:
            return asyncio.get_running_loop() is self.running.loop
        except RuntimeError:
            return False

    def _post(self, future: Future[Any], callback: Callable[[], None]) -> None:
        with self._lock:
            if self._closed:
                raise RuntimeError(self._closed)
            self._open.add(future)
        try:
            self.running.loop.call_soon_threadsafe(callback)
        except RuntimeError:  # the loop was closed between
            with self._lock:
                self._open.discard(future)
            raise RuntimeError(STOPPED) from None

    def _take(self, future: Future[Any]) -> bool:
        """Whether this future is ours to set, and nobody else's from now on."""
        with self._lock:
            if future not in self._open:
                return False
            self._open.discard(future)
        return future.set_running_or_notify_cancel()

    # -- in the loop -------------------------------------------------------------------------

    def _stepped(self) -> None:
        """The broker has made a step: see whether someone's wait is over."""
        for waiter in tuple(self._waiters):
            if self._settle(waiter):
                self._remove(waiter)

    def _settle(self, waiter: _Waiter[Any]) -> bool:
        """Whether the wait is over, by its condition, an error of that, or for want of interest."""
        if waiter.future not in self._open:
            return True
        try:
            found = waiter.condition(self.running.cluster)
        except BaseException as error:  # noqa: BLE001 -- raised again where it was asked for
            if self._take(waiter.future):
                waiter.future.set_exception(for_caller(error))
            return True
        if found is None:
            return False
        if self._take(waiter.future):
            if waiter.then is None:
                waiter.future.set_result(found)
            else:  # a step of its own, and this is the end of another
                self.running.loop.call_soon(self._finish, waiter.future, waiter.then)
        return True

    def _finish(self, future: Future[Any], action: Callable[[Cluster], object]) -> None:
        try:
            future.set_result(self.running.act(action))
        except BaseException as error:  # noqa: BLE001 -- raised again where it was asked for
            future.set_exception(for_caller(error))

    def _expire(self, waiter: _Waiter[Any]) -> None:
        self._remove(waiter)
        if self._settle(waiter) or not self._take(waiter.future):
            return
        try:
            waiter.future.set_exception(WaitTimeoutError(waiter.explain(self.running.cluster)))
        except BaseException as error:  # noqa: BLE001 -- raised again where it was asked for
            waiter.future.set_exception(for_caller(error))

    def _remove(self, waiter: _Waiter[Any]) -> None:
        if waiter in self._waiters:
            self._waiters.remove(waiter)
        if waiter.timer is not None:
            waiter.timer.cancel()
        if not self._waiters and self._unwatch is not None:
            self._unwatch()
            self._unwatch = None


def for_caller(error: BaseException) -> BaseException:
    """An error of ours begins where it reaches the test: its way through the broker says nothing.

    Any other, of a test's own function or a defect, keeps its traceback.
    """
    if type(error).__module__.startswith("mockbroker."):
        error.__traceback__ = None
    return error


def _result(future: Future[T]) -> T:
    """As `future.result()`, without its frames in a traceback."""
    error = future.exception()
    if error is not None:
        raise error
    return future.result()


class AsyncBridge:
    """The same for coroutines of any loop, the broker's own included."""

    def __init__(self, bridge: Bridge) -> None:
        self._bridge = bridge

    def __repr__(self) -> str:
        return repr(self._bridge)

    @property
    def running(self) -> RunningBroker:
        """What the calls go to."""
        return self._bridge.running

    @property
    def journal_since(self) -> int:
        """As `Bridge.journal_since`."""
        return self._bridge.journal_since

    @journal_since.setter
    def journal_since(self, cursor: int) -> None:
        self._bridge.journal_since = cursor

    async def call(self, action: Callable[[Cluster], T]) -> T:
        """As `Bridge.call`."""
        if self._bridge.is_inside():
            return self._bridge.act(action)
        return await asyncio.wrap_future(self._bridge.submit(action))

    async def repeat(self, action: Callable[[Cluster], bool]) -> None:
        """As `Bridge.repeat`; the broker's own loop serves its clients too."""
        while True:
            if not await self.call(action):
                return
            await asyncio.sleep(0)

    async def wait(
        self,
        condition: Callable[[Cluster], T | None],
        timeout_seconds: float,
        explain: Callable[[Cluster], str],
        *,
        begin: Sequence[Callable[[Cluster], object]] = (),
    ) -> T:
        """As `Bridge.wait`."""
        return await self._wait(_Waiter[T](condition, timeout_seconds, explain, begin))

    async def act_when(
        self,
        ready: Callable[[Cluster], bool],
        action: Callable[[Cluster], T],
        timeout_seconds: float,
        explain: Callable[[Cluster], str],
        *,
        begin: Callable[[Cluster], object],
    ) -> T:
        """As `Bridge.act_when`."""
        waiter = _Waiter[T](lambda c: ready(c) or None, timeout_seconds, explain, (begin,), action)
        return await self._wait(waiter)

    async def _wait(self, waiter: _Waiter[T]) -> T:
        future = self._bridge.submit_wait(waiter)
        try:
            return await asyncio.wrap_future(future)
        except BaseException:
            self._bridge.forget(future)
            raise
