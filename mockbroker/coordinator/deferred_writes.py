"""Writes of a coordinator that the in-sync replicas do not have yet, in the order of the log.

`CoordinatorRuntime` keeps one queue for each partition that it coordinates beside other brokers
(Kafka: DeferredEventQueue, CoordinatorRuntime.CoordinatorWriteEvent). The partition's high
watermark completes what it has passed; time, or the loss of the partition, fails the rest.

Invariants: `done` of a write is called exactly once; writes complete in the order of their offsets;
what timed out stays in the queue, because it stands in the log and may be replicated later.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from mockbroker_protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker.clock import TimerTask


class DeferredWrite:
    """One write. It is committed once the high watermark reaches `end_offset`.

    Then `replay()` changes the state as of the committed offset, and `done(error)` gets NONE.
    Else it gets REQUEST_TIMED_OUT, or why the queue was failed.
    """

    __slots__ = ("_done", "_replay", "end_offset", "timeout")

    def __init__(
        self,
        end_offset: int,
        done: Callable[[ErrorCode], None],
        replay: Callable[[], None] | None = None,
    ) -> None:
        self.end_offset = end_offset
        self._done: Callable[[ErrorCode], None] | None = done
        self._replay = replay
        self.timeout: TimerTask | None = None
        """Calls `expire`; whoever adds the write arms it."""

    def commit(self) -> None:
        """The in-sync replicas have it."""
        if self._replay is not None:
            self._replay()
        self.complete(ErrorCode.NONE)

    def complete(self, error: ErrorCode) -> None:
        """Tell what became of it, unless its time was up before."""
        done = self._done
        if done is not None:
            self._done = None
            if self.timeout is not None:
                self.timeout.cancel()
            done(error)

    def expire(self) -> None:
        """It was not replicated in time (CoordinatorRuntime.OperationTimeout).

        It stands in the log all the same, and is replayed if it is replicated later.
        """
        self.complete(ErrorCode.REQUEST_TIMED_OUT)


class DeferredWrites:
    """The queue of one partition."""

    __slots__ = ("_completing_up_to", "_writes")

    def __init__(self) -> None:
        self._writes: deque[DeferredWrite] = deque()
        self._completing_up_to = -1
        """The highest watermark told of while writes are completed; -1 while none are."""

    def __len__(self) -> int:
        return len(self._writes)

    @property
    def last_offset(self) -> int:
        """The end of what waits; -1 if nothing does."""
        return self._writes[-1].end_offset if self._writes else -1

    def add(self, write: DeferredWrite) -> None:
        """Let it wait behind those before."""
        assert write.end_offset >= self.last_offset
        self._writes.append(write)

    def complete_up_to(self, high_watermark: int) -> None:
        """The log is replicated up to that offset.

        What is told may write more, and call this again: the outermost call completes that too, so
        that the stack stays flat however many wait (DeferredEventQueue runs none in another).
        """
        if self._completing_up_to >= 0:
            self._completing_up_to = max(self._completing_up_to, high_watermark)
            return
        self._completing_up_to = high_watermark
        writes = self._writes
        try:
            while writes and writes[0].end_offset <= self._completing_up_to:
                writes.popleft().commit()
        finally:
            self._completing_up_to = -1

    def fail_all(self, error: ErrorCode) -> None:
        """Nothing of it will be known here: another broker leads, or the topic is gone."""
        writes = self._writes
        while writes:
            writes.popleft().complete(error)


def ignore_error(_error: ErrorCode) -> None:
    """For a write that nobody here waits for: if it failed, it is due again at the next check."""
