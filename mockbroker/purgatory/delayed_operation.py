"""An operation that waits: what it needs to know, and its single completion.

A parked fetch, produce or join is a subclass. It is handed to a `Purgatory`, which tries it when a
key it watches is poked and expires it at its deadline.

Invariant: of poke, expiry, `force_complete` and `cancel` exactly one wins, and only the winner has
an effect (Kafka: DelayedOperation.forceComplete).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from mockbroker.clock import TimerTask
    from mockbroker.purgatory.purgatory import Purgatory


class DelayedOperation(ABC):
    """One request that waits until `deadline_ms` at the longest.

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

    def on_expiration(self) -> None:  # noqa: B027 - a hook that most operations leave alone
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

    def cancel(self) -> bool:
        """Give up without an answer (its client has gone). False when it was completed before."""
        if self.completed:
            return False
        self.completed = True
        if self.waits_in is not None:
            self.waits_in.note_cancelled(self)
        return True
