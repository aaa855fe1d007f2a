"""What a cleaning knows of the transactions that it passes, in the order of the log.

`cleaner` shows it each batch once: data of aborted transactions goes at once, a marker may go when
nothing of its transaction was met any more (Kafka: CleanedTransactionMetadata).

Invariant: `kept_aborted` grows in the order of its markers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker_protocol.records.batch import CONTROL_ABORT, CONTROL_COMMIT, iterate_records
from mockbroker_protocol.records.batch import parse_control_record as parse_marker

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mockbroker.log.aborted import CompletedTransaction
    from mockbroker.log.results import Buffer
    from mockbroker_protocol.records.batch import BatchHeader


class CleanedTransactions:
    """The transactions around the batch that is looked at; `aborted` are all that are known."""

    __slots__ = ("_committed", "_met", "_ongoing", "_waiting", "kept_aborted")

    def __init__(self, aborted: Iterable[CompletedTransaction]) -> None:
        # By descending first offset: the next to begin is the last.
        self._waiting = sorted(aborted, key=_first_offset, reverse=True)
        self._ongoing: dict[int, CompletedTransaction] = {}
        self._met: set[int] = set()
        self._committed: set[int] = set()
        self.kept_aborted: list[CompletedTransaction] = []
        """Aborted transactions whose marker must stay."""

    def data_may_go(self, header: BatchHeader) -> bool:
        """Whether this batch of data belongs to an aborted transaction."""
        self._begin_up_to(header.last_offset)
        if not header.is_transactional:
            return False
        if header.producer_id in self._ongoing:
            self._met.add(header.producer_id)
            return True
        self._committed.add(header.producer_id)
        return False

    def marker_may_go(self, header: BatchHeader, batch: Buffer) -> bool:
        """Whether nothing of the transaction that this control batch ends was met."""
        self._begin_up_to(header.last_offset)
        if not header.record_count:
            return True  # cleaned before
        kind, _ = parse_marker(next(iterate_records(batch, 0, header)))
        producer_id = header.producer_id
        if kind == CONTROL_ABORT:
            aborted = self._ongoing.pop(producer_id, None)
            if aborted is None or producer_id not in self._met:
                return True
            self._met.discard(producer_id)
            self.kept_aborted.append(aborted)
            return False
        if kind == CONTROL_COMMIT:
            may_go = producer_id not in self._committed
            self._committed.discard(producer_id)
            return may_go
        return False

    def _begin_up_to(self, offset: int) -> None:
        waiting = self._waiting
        while waiting and waiting[-1].first_offset <= offset:
            aborted = waiting.pop()
            self._ongoing.setdefault(aborted.producer_id, aborted)


def _first_offset(aborted: CompletedTransaction) -> int:
    return aborted.first_offset
