"""A produce with acks=-1, or a DeleteRecords, that waits for the other replicas.

`ReplicaManager` parks one while some of its entries are not done: records that the high watermark
has not passed, a log start that a live follower has not reached (Kafka: DelayedProduce,
DelayedDeleteRecords).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from mockbroker.purgatory.purgatory import DelayedOperation
from mockbroker_protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class WaitingEntry(Protocol):
    """One partition of such a request."""

    error: ErrorCode

    def is_done(self) -> bool:
        """Whether it has its answer, be it an error."""


class DelayedEntries(DelayedOperation):
    """One parked request; `answer` is called once, when all entries are done or time is up.

    What is not done by its deadline answers 7, although what was appended or deleted stays so.
    """

    __slots__ = ("_answer", "_pending")

    def __init__(
        self, deadline_ms: float, pending: Sequence[WaitingEntry], answer: Callable[[], None]
    ) -> None:
        super().__init__(deadline_ms)
        self._pending = pending
        self._answer = answer

    def try_complete(self) -> bool:
        self._pending = [entry for entry in self._pending if not entry.is_done()]
        return not self._pending and self.force_complete()

    def on_complete(self) -> None:
        for entry in self._pending:
            entry.error = ErrorCode.REQUEST_TIMED_OUT
        self._answer()
