"""A produce with acks=-1 that waits until the in-sync replicas have its records.

`ReplicaManager.append_records` parks it when a high watermark has not passed the last record that
was appended. It completes when all its partitions are done, or at its time-out: what is not done
by then answers 7 although the records stay in the log (Kafka: DelayedProduce).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.purgatory.delayed_operation import DelayedOperation
from mockbroker_protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker.replica.append_entry import AppendEntry


class DelayedProduce(DelayedOperation):
    """One parked produce; `pending` are the entries that still wait."""

    __slots__ = ("_answer", "_pending")

    def __init__(
        self, deadline_ms: float, pending: list[AppendEntry], answer: Callable[[], None]
    ) -> None:
        super().__init__(deadline_ms)
        self._pending = pending
        self._answer = answer

    def try_complete(self) -> bool:
        self._pending = [entry for entry in self._pending if not _is_done(entry)]
        return not self._pending and self.force_complete()

    def on_complete(self) -> None:
        for entry in self._pending:
            entry.error = ErrorCode.REQUEST_TIMED_OUT
        self._answer()

    def give_up(self) -> None:
        """Its client has gone: no answer."""
        self.cancel()


def _is_done(entry: AppendEntry) -> bool:
    """Whether the entry has its answer, be it an error (checkEnoughReplicasReachOffset)."""
    partition = entry.partition
    if partition is None:
        return True
    if partition.deleted:
        entry.error = partition.error_when_gone()
        return True
    if not partition.is_leader:
        entry.error = ErrorCode.NOT_LEADER_OR_FOLLOWER
        return True
    if partition.high_watermark <= entry.last_offset:
        return False
    if partition.is_under_min_isr():
        entry.error = ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
    return True
