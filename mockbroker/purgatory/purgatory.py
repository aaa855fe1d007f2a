"""Operations that wait, and where they do: found by the keys that they watch.

A parked fetch, produce or DeleteRecords is a `DelayedOperation`. The owner of a purgatory calls
`try_complete_else_watch` when a request cannot be answered yet, or `watch` when that is known for
sure, and `check_and_complete` when something happened to a key; the timer does the rest. Behaviour
follows Kafka's DelayedOperationPurgatory: try, watch, try again; operations of a key are tried in
the order in which they came; a completed one stays in the lists of its other keys until it is
swept.

Invariants: of check, expiry, `force_complete` and `cancel` exactly one wins, and only the winner
has an effect (Kafka: DelayedOperation.forceComplete); a key without watchers is gone; at most
`purge_interval` watch entries belong to completed operations; the sweep costs what it removes,
however many operations wait.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from mockbroker.clock import Timer, TimerTask

DEFAULT_PURGE_INTERVAL = 1000
"""Kafka's fetch.purgatory.purge.interval.requests; counted in watch entries here."""

TRIED_AT_ONCE = 8
"""Operations between two looks at whether the turn is over."""


class DelayedOperation:
    """One request that waits until `deadline_ms` at the longest.

    It is no `ABC`: what extends one is compiled with one memory of `isinstance` for all of them.

    `timer_task`, `waits_in`, `watch_entries` and `watched_keys` are the purgatory's notes.
    """

    __slots__ = (
        "completed",
        "deadline_ms",
        "timer_task",
        "waits_in",
        "watch_entries",
        "watched_keys",
    )

    def __init__(self, deadline_ms: float) -> None:
        self.deadline_ms = deadline_ms
        self.completed = False
        self.timer_task: TimerTask | None = None
        self.waits_in: Purgatory | None = None
        self.watched_keys: Sequence[Hashable] = ()
        self.watch_entries = 0

    @abstractmethod
    def try_complete(self) -> bool:
        """Check the condition and `return self.force_complete()` when it holds, else False."""

    @abstractmethod
    def on_complete(self) -> None:
        """Produce the answer. Called exactly once, unless the operation is cancelled."""

    def on_expiration(self) -> None:
        """Called after `on_complete` when the deadline ended the wait."""

    def force_complete(self) -> bool:
        """Complete now, whatever the condition. False when it was completed before."""
        if self.completed:
            return False
        self.completed = True
        if self.waits_in is not None:
            self.waits_in.note_completed(self)
        self.on_complete()
        return True

    def give_up(self) -> None:
        """Its client has gone: no answer, and nothing holds on to it."""
        self.cancel()

    def cancel(self) -> bool:
        """End the wait without an answer. False when it was completed before."""
        if self.completed:
            return False
        self.completed = True
        if self.waits_in is not None:
            self.waits_in.note_cancelled(self)
        return True


class Purgatory:
    """The waiting room of one kind of operation."""

    __slots__ = (
        "_dead",
        "_dead_entries",
        "_timer",
        "_watchers",
        "expired",
        "num_delayed_operations",
        "purgatory_size",
        "purge_interval",
    )

    def __init__(self, timer: Timer, purge_interval: int = DEFAULT_PURGE_INTERVAL) -> None:
        self._timer = timer
        self._watchers: dict[Hashable, dict[DelayedOperation, None]] = {}
        self._dead: dict[DelayedOperation, None] = {}
        self._dead_entries = 0
        self.purge_interval = purge_interval
        self.purgatory_size = 0
        """Watch entries; an operation on three keys counts three (Kafka: PurgatorySize)."""
        self.num_delayed_operations = 0
        """Armed timers, thus operations that wait (Kafka: NumDelayedOperations)."""
        self.expired = 0
        """Operations that ended at their deadline, since the start."""

    def try_complete_else_watch(
        self, operation: DelayedOperation, keys: Sequence[Hashable]
    ) -> bool:
        """Complete it at once, or park it under `keys`. True when this call completed it.

        It is tried again after it was registered: what happened in between is not missed.
        """
        assert keys, "an operation without keys could only expire"
        if operation.try_complete():
            return True
        self._register(operation, keys)
        if operation.try_complete():
            return True
        if not operation.completed:
            self._arm(operation)
        return False

    def watch(self, operation: DelayedOperation, keys: Sequence[Hashable]) -> None:
        """Park it without a try, for callers that have just seen that it cannot complete."""
        assert keys, "an operation without keys could only expire"
        self._register(operation, keys)
        self._arm(operation)

    def _register(self, operation: DelayedOperation, keys: Sequence[Hashable]) -> None:
        operation.waits_in = self
        operation.watched_keys = keys
        for key in keys:
            watchers = self._watchers.get(key)
            if watchers is None:
                self._watchers[key] = {operation: None}
            elif operation in watchers:
                continue
            else:
                watchers[operation] = None
            operation.watch_entries += 1
            self.purgatory_size += 1

    def _arm(self, operation: DelayedOperation) -> None:
        operation.timer_task = self._timer.schedule(
            operation.deadline_ms, partial(self._expire, operation)
        )
        self.num_delayed_operations += 1

    def check_and_complete(self, key: Hashable) -> int:
        """Something happened to `key`: try its operations; returns how many this completed."""
        watchers = self._watchers.get(key)
        if watchers is None:
            return 0
        completed_here = 0
        for operation in list(watchers):
            if operation.completed:
                self._remove_entry(key, operation)
            elif operation.try_complete():
                completed_here += 1
                self._remove_entry(key, operation)
        return completed_here

    def check_in_slices(self, key: Hashable) -> Iterator[None]:
        """As `check_and_complete`; yields after each few operations that were tried."""
        watchers = self._watchers.get(key)
        if watchers is None:
            return
        for tried, operation in enumerate(list(watchers), 1):
            if operation.completed or operation.try_complete():
                self._remove_entry(key, operation)
            if not tried % TRIED_AT_ONCE:
                yield
        yield

    def cancel_for_key(self, key: Hashable) -> list[DelayedOperation]:
        """Take the operations off `key` and stop their timers, without completing them.

        They stay under their other keys (Kafka: Watchers.cancel); the caller decides what becomes
        of them.
        """
        watchers = self._watchers.pop(key, None)
        if watchers is None:
            return []
        self.purgatory_size -= len(watchers)
        waiting: list[DelayedOperation] = []
        for operation in watchers:
            operation.watch_entries -= 1
            if operation.completed:
                self._forget_dead_entry(operation)
            else:
                self._disarm(operation)
                waiting.append(operation)
        return waiting

    def waiting(self, key: Hashable) -> list[DelayedOperation]:
        """The operations that wait under `key`."""
        return [each for each in self._watchers.get(key, ()) if not each.completed]

    def watched(self, key: Hashable) -> int:
        """Number of watch entries under `key`."""
        return len(self._watchers.get(key, ()))

    @property
    def watched_keys(self) -> int:
        """Number of keys that have watch entries."""
        return len(self._watchers)

    def purge(self) -> int:
        """Sweep the entries of completed operations; returns how many were removed."""
        removed = 0
        for operation in self._dead:
            removed += self._remove_entries(operation)
        self._dead.clear()
        self._dead_entries = 0
        return removed

    def _expire(self, operation: DelayedOperation) -> None:
        # The timer's own task has run: disarming would find nothing to cancel.
        if operation.force_complete():
            self.expired += 1
            operation.on_expiration()

    def _disarm(self, operation: DelayedOperation) -> None:
        if operation.timer_task is not None:
            operation.timer_task.cancel()
            operation.timer_task = None
            self.num_delayed_operations -= 1

    def note_completed(self, operation: DelayedOperation) -> None:
        """It has won its completion: stop its timer, leave its entries to the sweep."""
        self._disarm(operation)
        if operation.watch_entries:
            self._dead[operation] = None
            self._dead_entries += operation.watch_entries
            if self._dead_entries > self.purge_interval:
                self.purge()

    def note_cancelled(self, operation: DelayedOperation) -> None:
        """It was given up: stop its timer and take it off its keys."""
        self._disarm(operation)
        self._remove_entries(operation)

    def _remove_entry(self, key: Hashable, operation: DelayedOperation) -> None:
        watchers = self._watchers.get(key)
        if watchers is None or operation not in watchers:
            return  # swept, or taken off the key, while its answer was made
        del watchers[operation]
        operation.watch_entries -= 1
        self.purgatory_size -= 1
        if not watchers:
            del self._watchers[key]
        self._forget_dead_entry(operation)

    def _forget_dead_entry(self, operation: DelayedOperation) -> None:
        if operation in self._dead:
            self._dead_entries -= 1
            if not operation.watch_entries:
                del self._dead[operation]

    def _remove_entries(self, operation: DelayedOperation) -> int:
        removed = 0
        for key in operation.watched_keys:
            watchers = self._watchers.get(key)
            if watchers is not None and operation in watchers:
                del watchers[operation]
                removed += 1
                if not watchers:
                    del self._watchers[key]
        operation.watch_entries = 0
        self.purgatory_size -= removed
        return removed
