"""What the coordinator knows of one transactional id (Kafka: TransactionMetadata).

The decisions read it and build the record of the next state with the functions below; `apply` of
that record, once it is replicated, is what changes it. Until then `pending_state` says where it
goes, and whoever asks for a change is told to come again. Two things are not in the log, as in
Kafka: the epoch before the current one (a retry of InitProducerId that spans a move of the
coordinator is fenced), and which partitions have their marker already (they get another one).

Invariants: one transition is pending at most; at rest there are no partitions; the start time is -1
exactly when no transaction has begun since InitProducerId; an epoch never reaches 32767 by what a
client asks for.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from mockbroker.coordinator.txn.states import (
    AT_REST,
    PREPARED,
    VALID_PREVIOUS_STATES,
    TransactionState,
)
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.transaction_records import PartitionsSchema, TransactionLogValue

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypeAlias

    TopicPartition: TypeAlias = tuple[str, int]

NO_PRODUCER_ID: Final = -1
NO_PRODUCER_EPOCH: Final = -1
MAX_PRODUCER_EPOCH: Final = 32767
NO_START_TIME: Final = -1
# What a producer speaks: below 2 it adds each partition itself, and its epoch stays (KIP-890).
TRANSACTION_VERSION_0: Final = 0
TRANSACTION_VERSION_2: Final = 2


@dataclass(slots=True, eq=False)
class TransactionMetadata:
    """One transactional id. Times are wall time in ms; `partitions` keeps the order of adding."""

    transactional_id: str
    producer_id: int = NO_PRODUCER_ID
    previous_producer_id: int = NO_PRODUCER_ID
    next_producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH
    last_producer_epoch: int = NO_PRODUCER_EPOCH
    timeout_ms: int = 0
    state: TransactionState = TransactionState.EMPTY
    partitions: dict[TopicPartition, None] = field(default_factory=dict)
    start_ms: int = NO_START_TIME
    last_update_ms: int = 0
    client_transaction_version: int = TRANSACTION_VERSION_0
    pending_state: TransactionState | None = None
    """What was appended to the log and is not replicated yet."""

    def apply(self, value: TransactionLogValue) -> None:
        """Become what the record says."""
        self.producer_id = value.producer_id
        self.previous_producer_id = value.previous_producer_id
        self.next_producer_id = value.next_producer_id
        self.producer_epoch = value.producer_epoch
        self.last_producer_epoch = NO_PRODUCER_EPOCH
        self.timeout_ms = value.transaction_timeout_ms
        self.state = TransactionState(value.transaction_status)
        self.partitions = {
            (topic.topic, index): None
            for topic in value.transaction_partitions or ()
            for index in topic.partition_ids
        }
        self.start_ms = value.transaction_start_timestamp_ms
        self.last_update_ms = value.transaction_last_update_timestamp_ms
        self.client_transaction_version = value.client_transaction_version

    def remove_partition(self, partition: TopicPartition) -> None:
        """The partition has its marker, or is no more."""
        assert self.state in PREPARED, self.state
        self.partitions.pop(partition, None)

    @property
    def is_in_transition(self) -> bool:
        """Whether a decision must wait for the one before it (pendingTransitionInProgress).

        Kafka has the completion pending from the moment at which the transaction is prepared.
        """
        return self.pending_state is not None or self.state in PREPARED

    @property
    def may_be_forgotten(self) -> bool:
        """Whether a tombstone may be written: no transaction is open, nothing is pending."""
        return self.state in AT_REST and self.pending_state is None

    @property
    def is_epoch_exhausted(self) -> bool:
        """Whether the next epoch would be the last, which is kept for fencing."""
        return is_epoch_exhausted(self.producer_epoch)

    @property
    def bumps_epochs(self) -> bool:
        """Whether its transaction ends with a new epoch (transactions V2)."""
        return self.client_transaction_version >= TRANSACTION_VERSION_2


@dataclass(slots=True, eq=False)
class Transition:
    """The next state as a record, and the epoch before it (Kafka: TxnTransitMetadata)."""

    value: TransactionLogValue
    last_producer_epoch: int


def is_epoch_exhausted(producer_epoch: int) -> bool:
    """TransactionMetadata.isEpochExhausted."""
    return producer_epoch >= MAX_PRODUCER_EPOCH - 1


def increment_epoch(
    current: TransactionMetadata, timeout_ms: int, expected_epoch: int | None, now_ms: int
) -> Transition | ErrorCode:
    """InitProducerId on the same producer id: the next epoch, or the current one for a retry."""
    assert not current.is_epoch_exhausted
    epoch = current.producer_epoch
    if expected_epoch is None:
        # Forgetting the epoch before this one fences whoever had it.
        next_epoch, last_epoch = epoch + 1, NO_PRODUCER_EPOCH
    elif epoch in (expected_epoch, NO_PRODUCER_EPOCH):
        next_epoch, last_epoch = epoch + 1, epoch
    elif expected_epoch == current.last_producer_epoch:
        # A retry of a call that succeeded: nobody else came since.
        next_epoch, last_epoch = epoch, current.last_producer_epoch
    else:
        return ErrorCode.PRODUCER_FENCED
    value = _next(current, TransactionState.EMPTY, now_ms)
    value.producer_epoch = next_epoch
    _begin_anew(value, timeout_ms)
    return Transition(value, last_epoch)


def rotate_producer_id(
    current: TransactionMetadata,
    producer_id: int,
    timeout_ms: int,
    now_ms: int,
    *,
    remember_last_epoch: bool,
) -> Transition:
    """InitProducerId when the epochs are used up: another producer id, from epoch 0."""
    value = _next(current, TransactionState.EMPTY, now_ms)
    value.producer_id = producer_id
    value.producer_epoch = 0
    _begin_anew(value, timeout_ms)
    last_epoch = current.producer_epoch if remember_last_epoch else NO_PRODUCER_EPOCH
    return Transition(value, last_epoch)


def add_partitions(
    current: TransactionMetadata,
    partitions: Iterable[TopicPartition],
    client_transaction_version: int,
    now_ms: int,
) -> Transition:
    """These partitions join; the first ones begin the transaction."""
    value = _next(current, TransactionState.ONGOING, now_ms)
    value.transaction_partitions = _schemas({**current.partitions, **dict.fromkeys(partitions)})
    if current.state is not TransactionState.ONGOING:
        value.transaction_start_timestamp_ms = now_ms
    value.client_transaction_version = client_transaction_version
    return Transition(value, current.last_producer_epoch)


def prepare_end(
    current: TransactionMetadata,
    commit: bool,
    client_transaction_version: int,
    next_producer_id: int,
    now_ms: int,
) -> Transition:
    """EndTxn, or a fence: decided from now on. Of transactions V2 the epoch grows.

    An abort without a transaction (V2) counts as one that began now.
    """
    state = TransactionState.PREPARE_COMMIT if commit else TransactionState.PREPARE_ABORT
    value = _next(current, state, now_ms)
    last_epoch = current.last_producer_epoch
    if client_transaction_version >= TRANSACTION_VERSION_2:
        last_epoch = current.producer_epoch
        value.producer_epoch = min(last_epoch + 1, MAX_PRODUCER_EPOCH)
    if current.state is not TransactionState.ONGOING:
        value.transaction_start_timestamp_ms = now_ms
    value.next_producer_id = next_producer_id
    value.client_transaction_version = client_transaction_version
    return Transition(value, last_epoch)


def complete(current: TransactionMetadata, now_ms: int) -> Transition:
    """Every partition has its marker. A producer id that was used up is exchanged now."""
    committed = current.state is TransactionState.PREPARE_COMMIT
    state = TransactionState.COMPLETE_COMMIT if committed else TransactionState.COMPLETE_ABORT
    value = _next(current, state, now_ms)
    if current.bumps_epochs and current.next_producer_id != NO_PRODUCER_ID:
        value.producer_id = current.next_producer_id
        value.producer_epoch = 0
    value.next_producer_id = NO_PRODUCER_ID
    value.transaction_partitions = []
    return Transition(value, current.last_producer_epoch)


def _next(
    current: TransactionMetadata, state: TransactionState, now_ms: int
) -> TransactionLogValue:
    """TransactionMetadata.prepareTransitionTo: the record of `state`, all else as it is."""
    assert current.state in VALID_PREVIOUS_STATES[state], (current.state, state)
    return TransactionLogValue(
        producer_id=current.producer_id,
        producer_epoch=current.producer_epoch,
        transaction_timeout_ms=current.timeout_ms,
        transaction_status=state,
        transaction_partitions=_schemas(current.partitions),
        transaction_last_update_timestamp_ms=now_ms,
        transaction_start_timestamp_ms=current.start_ms,
        previous_producer_id=current.producer_id,
        next_producer_id=current.next_producer_id,
        client_transaction_version=current.client_transaction_version,
    )


def _begin_anew(value: TransactionLogValue, timeout_ms: int) -> None:
    value.transaction_timeout_ms = timeout_ms
    value.transaction_partitions = None
    value.transaction_start_timestamp_ms = NO_START_TIME


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """The partitions of each topic, in the order in which they come."""
    topics: dict[str, list[int]] = {}
    for topic, index in partitions:
        topics.setdefault(topic, []).append(index)
    return topics


def _schemas(partitions: Iterable[TopicPartition]) -> list[PartitionsSchema]:
    return [PartitionsSchema(topic, indexes) for topic, indexes in by_topic(partitions).items()]
