"""What a coordinator of transactions decides, said a second time (Kafka: TransactionCoordinator).

`Id` is what is known of a transactional id. Each function tells what it becomes, or what is
answered instead; `decision_probes` holds the brokers' decisions against it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from mockbroker.coordinator.txn.states import TransactionState
from mockbroker_protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mockbroker.coordinator.txn.metadata import TransactionMetadata, Transition

    Producer = tuple[int, int]

NONE: Final = -1
V2: Final = 2
FENCE: Final = "the open transaction is aborted first"
EMPTY, ONGOING = TransactionState.EMPTY, TransactionState.ONGOING
WILL_BE: Final = {
    TransactionState.PREPARE_COMMIT: TransactionState.COMPLETE_COMMIT,
    TransactionState.PREPARE_ABORT: TransactionState.COMPLETE_ABORT,
}
ENDED: Final = frozenset(WILL_BE.values())
BUSY, FENCED = ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.PRODUCER_FENCED
OTHER, BAD = ErrorCode.INVALID_PRODUCER_ID_MAPPING, ErrorCode.INVALID_TXN_STATE


class Id(NamedTuple):
    """A transactional id: its producer, and its transaction."""

    state: TransactionState
    producer_id: int
    epoch: int
    last_epoch: int
    """The epoch that a retry of InitProducerId may still name."""
    previous_id: int
    next_id: int
    parts: frozenset[tuple[str, int]]
    start_ms: int
    timeout_ms: int
    version: int
    is_pending: bool = False

    @property
    def is_busy(self) -> bool:
        """Whether it is on its way to another state (pendingTransitionInProgress)."""
        return self.is_pending or self.state in WILL_BE


Outcome = Id | ErrorCode | str


def id_of(known: TransactionMetadata) -> Id:
    """What a broker knows."""
    return Id(
        known.state,
        known.producer_id,
        known.producer_epoch,
        known.last_producer_epoch,
        known.previous_producer_id,
        known.next_producer_id,
        frozenset(known.partitions),
        known.start_ms,
        known.timeout_ms,
        known.client_transaction_version,
        known.pending_state is not None,
    )


def id_after(transition: Transition) -> Id:
    """What a decision makes of it."""
    value = transition.value
    return Id(
        TransactionState(value.transaction_status),
        value.producer_id,
        value.producer_epoch,
        transition.last_producer_epoch,
        value.previous_producer_id,
        value.next_producer_id,
        frozenset(
            (topic.topic, index)
            for topic in value.transaction_partitions or ()
            for index in topic.partition_ids
        ),
        value.transaction_start_timestamp_ms,
        value.transaction_timeout_ms,
        value.client_transaction_version,
    )


class Model:
    """`most_epochs`: the last epoch there is, which no client is given; `new_id` is the next id."""

    def __init__(self, most_epochs: int, new_id: int, now_ms: int) -> None:
        self.most_epochs = most_epochs
        self.new_id = new_id
        self.now_ms = now_ms

    def _uses_up(self, epoch: int) -> bool:
        """Whether a producer with that epoch can be given no other (isProducerEpochExhausted)."""
        return epoch + 1 >= self.most_epochs

    def init(self, known: Id, told: Producer | None, timeout_ms: int) -> Outcome:
        """InitProducerId (prepareInitProducerIdTransit)."""
        if known.is_busy:
            return BUSY
        if told is not None and known.epoch >= 0 and told[0] != known.producer_id:
            used_up = told[0] == known.previous_id and self._uses_up(told[1])
            if not used_up:
                return FENCED
        if known.state is ONGOING:
            return FENCE
        named = None if told is None else told[1]
        anew = known._replace(
            state=EMPTY,
            previous_id=known.producer_id,
            parts=frozenset(),
            start_ms=NONE,
            timeout_ms=timeout_ms,
        )
        if named is not None and known.epoch >= 0 and named != known.epoch:
            retries = named == known.last_epoch and not self._uses_up(known.epoch)
            return anew if retries else FENCED
        last = NONE if named is None else known.epoch
        if self._uses_up(known.epoch):
            return anew._replace(producer_id=self.new_id, epoch=0, last_epoch=last)
        return anew._replace(epoch=known.epoch + 1, last_epoch=last)

    def add(
        self, known: Id, told: Producer, parts: Iterable[tuple[str, int]], version: int
    ) -> Outcome:
        """AddPartitionsToTxn (handleAddPartitionsToTransaction)."""
        if known.is_busy:
            return BUSY
        if told[0] != known.producer_id:
            return OTHER
        if told[1] != known.epoch:
            return FENCED
        together = known.parts.union(parts)
        if known.state is ONGOING and together == known.parts:
            return ErrorCode.NONE
        return known._replace(
            state=ONGOING,
            previous_id=known.producer_id,
            parts=together,
            start_ms=known.start_ms if known.state is ONGOING else self.now_ms,
            version=version,
        )

    def end_v1(self, known: Id, told: Producer, *, commit: bool) -> Outcome:
        """EndTxn up to v4 (endTransactionWithTV1)."""
        if told[0] != known.producer_id:
            return OTHER
        if told[1] != known.epoch:
            return FENCED
        if known.is_busy:
            return BUSY
        if known.state is not ONGOING:
            return self._settled(known, commit=commit)
        return self._prepared(known, commit=commit)._replace(
            epoch=known.epoch, last_epoch=known.last_epoch, next_id=NONE, version=0
        )

    def end_v2(self, known: Id, told: Producer, *, commit: bool) -> Outcome:
        """EndTxn from v5 on (endTransaction): the epoch before is that of a retry."""
        if known.is_busy:
            return BUSY
        over_ids = known.epoch == 0 and told == (known.previous_id, self.most_epochs - 1)
        if told[0] != known.producer_id and not over_ids:
            return OTHER
        retries = over_ids or told[1] == known.epoch - 1
        if told[1] != known.epoch and not (retries and known.state in ENDED):
            return FENCED
        if known.state is ONGOING:
            return self._prepared(known, commit=commit)
        if retries:
            return self._settled(known, commit=commit)
        return BAD if commit else self._prepared(known, commit=False)

    def fence(self, known: Id) -> Id:
        """What a coordinator aborts by itself has an epoch that nobody was given."""
        return self._prepared(known, commit=False)

    def complete(self, known: Id) -> Id:
        """All has its markers (prepareComplete)."""
        exchanges = known.version >= V2 and known.next_id != NONE
        return known._replace(
            state=WILL_BE[known.state],
            producer_id=known.next_id if exchanges else known.producer_id,
            epoch=0 if exchanges else known.epoch,
            previous_id=known.producer_id,
            next_id=NONE,
            parts=frozenset(),
        )

    def _settled(self, known: Id, *, commit: bool) -> ErrorCode:
        wanted = TransactionState.COMPLETE_COMMIT if commit else TransactionState.COMPLETE_ABORT
        return ErrorCode.NONE if known.state is wanted else BAD

    def _prepared(self, known: Id, *, commit: bool) -> Id:
        """The next epoch; the id after this one where that is the last."""
        return known._replace(
            state=TransactionState.PREPARE_COMMIT if commit else TransactionState.PREPARE_ABORT,
            epoch=min(known.epoch + 1, self.most_epochs),
            last_epoch=known.epoch,
            previous_id=known.producer_id,
            next_id=self.new_id if self._uses_up(known.epoch) else NONE,
            start_ms=known.start_ms if known.state is ONGOING else self.now_ms,
            version=V2,
        )
