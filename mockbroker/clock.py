"""Time as the core sees it: a clock that is set once a step, and a timer that runs on it.

Nothing in the core reads a clock of the machine. The shell reads the monotonic time once a step,
stores it in `Clock.now_ms` and calls `Timer.advance`; between two steps time stands still.
`Timer.next_deadline` tells the shell when it must come back if nothing else happens.

The timer keeps what Kafka's SystemTimer promises (ticks of 1 ms, never early, insert and cancel in
O(1)) without its wheels: tasks of one millisecond share a bucket, and a heap holds the distinct
buckets only.

Invariants: a task is in a bucket exactly while it is pending; a bucket without tasks is gone; the
heap names every bucket, and it holds at most `2 * buckets + 64` stale entries.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from math import ceil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

_STALE_ENTRIES_ALLOWED = 64


class Clock:
    """The step's time: `now_ms` since the core started, and wall time `epoch_ms + now_ms`."""

    __slots__ = ("epoch_ms", "now_ms")

    def __init__(self, epoch_ms: int = 0, now_ms: float = 0.0) -> None:
        self.epoch_ms = epoch_ms
        self.now_ms = now_ms

    def wall_ms(self) -> int:
        """Milliseconds since 1970, as record timestamps have them."""
        return self.epoch_ms + int(self.now_ms)


class TimerTask:
    """One scheduled action; `cancel` it in O(1) as long as it has not run."""

    __slots__ = ("_action", "_timer", "tick_ms")

    def __init__(self, timer: Timer, tick_ms: int, action: Callable[[], None]) -> None:
        self._timer: Timer | None = timer
        self._action: Callable[[], None] | None = action
        self.tick_ms = tick_ms

    @property
    def pending(self) -> bool:
        """Whether it will still run."""
        return self._timer is not None

    def cancel(self) -> bool:
        """Forget the action. False when it has run, is running or was cancelled before."""
        timer = self._timer
        if timer is None:
            return False
        self._timer = None
        self._action = None
        timer.discard(self)
        return True

    def take_action(self) -> Callable[[], None] | None:
        """The timer's half of running it: from here on it cannot be cancelled."""
        action = self._action
        self._timer = None
        self._action = None
        return action


class Timer:
    """Runs actions when their deadline has passed, in the order (millisecond, age)."""

    __slots__ = ("_buckets", "_heap", "_pending")

    def __init__(self) -> None:
        self._buckets: dict[int, dict[TimerTask, None]] = {}
        self._heap: list[int] = []
        self._pending = 0

    def __len__(self) -> int:
        """Number of pending tasks."""
        return self._pending

    def schedule(self, deadline_ms: float, action: Callable[[], None]) -> TimerTask:
        """Run `action` in the first `advance` to a time not before `deadline_ms`.

        The deadline is rounded up to the millisecond, so an action is never early.
        """
        tick_ms = ceil(deadline_ms)
        task = TimerTask(self, tick_ms, action)
        bucket = self._buckets.get(tick_ms)
        if bucket is None:
            self._buckets[tick_ms] = {task: None}
            heappush(self._heap, tick_ms)
        else:
            bucket[task] = None
        self._pending += 1
        return task

    def advance(self, now_ms: float) -> int:
        """Run what is due at `now_ms`; returns how many actions ran.

        An action may schedule and cancel. What it schedules runs in a later advance, even when it
        is due already: a task that renews itself without delay cannot hold up the step. When an
        action raises, so does this; what was due behind it stays due.
        """
        heap = self._heap
        due: list[dict[TimerTask, None]] = []
        while heap and heap[0] <= now_ms:
            bucket = self._buckets.pop(heappop(heap), None)
            if bucket is not None:
                due.append(bucket)
        ran = 0
        try:
            for bucket in due:
                for task in list(bucket):
                    action = task.take_action()
                    if action is not None:
                        self._pending -= 1
                        ran += 1
                        action()
        except BaseException:
            self._put_back(due)
            raise
        return ran

    def _put_back(self, due: list[dict[TimerTask, None]]) -> None:
        """An action failed: those behind it run in the next advance."""
        for bucket in due:
            left = {task: None for task in bucket if task.pending}
            if left:
                tick_ms = next(iter(left)).tick_ms
                self._buckets[tick_ms] = {**left, **self._buckets.get(tick_ms, {})}
                heappush(self._heap, tick_ms)

    def move(self, task: TimerTask, deadline_ms: float) -> None:
        """Let a pending task run then instead, as if it had been scheduled now."""
        assert task.pending
        self.discard(task)
        task.tick_ms = tick_ms = ceil(deadline_ms)
        if tick_ms not in self._buckets:
            self._buckets[tick_ms] = {}
            heappush(self._heap, tick_ms)
        self._buckets[tick_ms][task] = None
        self._pending += 1

    def next_deadline(self, beside: Collection[TimerTask] = ()) -> float | None:
        """When `advance` has something to run, not counting tasks of `beside`; None: never."""
        if beside:
            others = (
                tick_ms
                for tick_ms, bucket in self._buckets.items()
                if not all(task in beside for task in bucket)
            )
            return min(map(float, others), default=None)
        heap = self._heap
        while heap:
            if heap[0] in self._buckets:
                return float(heap[0])
            heappop(heap)
        return None

    def discard(self, task: TimerTask) -> None:
        """The timer's half of `TimerTask.cancel`."""
        self._pending -= 1
        bucket = self._buckets.get(task.tick_ms)
        if bucket is None or task not in bucket:
            return  # `advance` has taken its bucket and will pass over it
        del bucket[task]
        if not bucket:
            del self._buckets[task.tick_ms]
            if len(self._heap) > _STALE_ENTRIES_ALLOWED + 2 * len(self._buckets):
                self._heap = list(self._buckets)
                heapify(self._heap)
