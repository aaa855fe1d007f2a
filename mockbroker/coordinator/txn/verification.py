"""Whether the producer's coordinator lets a transactional batch be appended (KIP-890).

Produce and TxnOffsetCommit call `check` before they append the first batch of a transaction to a
partition (Kafka: AddPartitionsToTxnManager, ReplicaManager
.maybeSendPartitionsToTransactionCoordinator). A batch of a transaction that is open on the
partition already needs no question. Old clients added the partition themselves: it is verified.
New ones leave that to the broker (transactions V2): it is added.

| error of the coordinator  | error of the append                       |
|---------------------------|-------------------------------------------|
| 90 another epoch          | 47                                        |
| 120 not in the transaction | 48 to clients that do not know 120       |
| 51, when adding           | retried for a while, then 51              |
| else                      | the same                                  |

Invariant: `on_complete` of a check is called exactly once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TYPE_CHECKING, Protocol

from mockbroker.coordinator.txn.metadata import TRANSACTION_VERSION_2, by_topic
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.transactions import (
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TypeAlias

    from mockbroker.clock import Clock, Timer, TimerTask
    from mockbroker.config.broker import BrokerConfig
    from mockbroker.coordinator.txn.metadata import TopicPartition
    from mockbroker.replica.partition import Partition

    # Only partitions that may not be appended to.
    Refused: TypeAlias = dict[Partition, ErrorCode]

_RETRY_BACKOFF = "add.partitions.to.txn.retry.backoff.ms"
_RETRY_BACKOFF_MAX = "add.partitions.to.txn.retry.backoff.max.ms"
_VERIFICATION = "transaction.partition.verification.enable"


class Operation(Enum):
    """What a client's version allows (TransactionSupportedOperation)."""

    VERIFY = auto()
    VERIFY_ABORTABLE = auto()
    ADD = auto()

    @property
    def transaction_version(self) -> int:
        """What the client speaks, as the log wants to know it."""
        return TRANSACTION_VERSION_2 if self is Operation.ADD else 0


def produce_operation(version: int) -> Operation:
    """By the version of Produce."""
    return _operation(version, first_abortable=11)


def txn_offset_commit_operation(version: int) -> Operation:
    """By the version of TxnOffsetCommit."""
    return _operation(version, first_abortable=4)


def _operation(version: int, first_abortable: int) -> Operation:
    if version > first_abortable:
        return Operation.ADD
    return Operation.VERIFY_ABORTABLE if version == first_abortable else Operation.VERIFY


@dataclass(slots=True, eq=False)
class _Check:
    """One verification, as long as it is retried."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    partitions: list[Partition]
    operation: Operation
    deadline_ms: float
    on_complete: Callable[[Refused], None]
    task: TimerTask | None = None


class AnswersBatches(Protocol):
    """Who knows a transaction: its coordinator's service, or `remote` on the way to it."""

    def add_or_verify(
        self,
        transaction: AddPartitionsToTxnTransaction,
        on_complete: Callable[[dict[TopicPartition, ErrorCode]], None],
    ) -> None:
        """Add partitions to the transaction, or say whether they are in it."""


@dataclass(slots=True, eq=False)
class TransactionVerifier:
    """Asks the coordinator, wherever it is."""

    _clock: Clock
    _timer: Timer
    _config: BrokerConfig
    _service: AnswersBatches
    _waiting: dict[_Check, None] = field(default_factory=dict)

    def check(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: Iterable[Partition],
        operation: Operation,
        on_complete: Callable[[Refused], None],
        *,
        patient: bool,
    ) -> None:
        """`on_complete(refused)`, at once, or within the back-off's maximum if `patient`."""
        if operation is not Operation.ADD and not self._config.bool(_VERIFICATION):
            on_complete({})
            return
        wait_ms = 0
        if patient and operation is Operation.ADD:
            most = self._config.int(_RETRY_BACKOFF_MAX)
            wait_ms = min(most, self._config.int("request.timeout.ms"))
        check = _Check(
            transactional_id,
            producer_id,
            producer_epoch,
            list(partitions),
            operation,
            self._clock.now_ms + wait_ms,
            on_complete,
        )
        self._ask(check)

    def release(self) -> None:
        """The node shuts down: whoever waits gets the answer of this moment."""
        for check in list(self._waiting):
            check.deadline_ms = self._clock.now_ms
            assert check.task is not None
            check.task.cancel()
            self._ask(check)

    def _ask(self, check: _Check) -> None:
        self._waiting.pop(check, None)
        refused: Refused = {}
        unknown: list[Partition] = []
        for partition in check.partitions:
            error = _ask_log(partition, check.producer_id, check.producer_epoch)
            if error is None:
                unknown.append(partition)
            elif error is not ErrorCode.NONE:
                refused[partition] = error
        if unknown:
            self._ask_coordinator(check, unknown, refused)
        else:
            self._decided(check, refused)

    def _ask_coordinator(
        self, check: _Check, partitions: list[Partition], refused: Refused
    ) -> None:
        by_name = {(partition.topic, partition.index): partition for partition in partitions}

        def answered(errors: dict[TopicPartition, ErrorCode]) -> None:
            for name, error in errors.items():
                if error is not ErrorCode.NONE:
                    refused[by_name[name]] = _append_error(error, check.operation)
            self._decided(check, refused)

        transaction = AddPartitionsToTxnTransaction(
            check.transactional_id,
            check.producer_id,
            check.producer_epoch,
            check.operation is not Operation.ADD,
            [AddPartitionsToTxnTopic(topic, at) for topic, at in by_topic(by_name).items()],
        )
        self._service.add_or_verify(transaction, answered)

    def _decided(self, check: _Check, refused: Refused) -> None:
        if (
            ErrorCode.CONCURRENT_TRANSACTIONS in refused.values()
            and self._clock.now_ms < check.deadline_ms
        ):
            self._waiting[check] = None
            check.task = self._timer.schedule(
                self._clock.now_ms + self._config.int(_RETRY_BACKOFF), lambda: self._ask(check)
            )
            return
        check.on_complete(refused)


def _append_error(error: ErrorCode, operation: Operation) -> ErrorCode:
    """AddPartitionsToTxnHandler.onComplete."""
    if error is ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if error is ErrorCode.TRANSACTION_ABORTABLE and operation is Operation.VERIFY:
        return ErrorCode.INVALID_TXN_STATE
    return error


def _ask_log(partition: Partition, producer_id: int, producer_epoch: int) -> ErrorCode | None:
    """UnifiedLog.maybeStartTransactionVerification; None when the coordinator decides."""
    if not partition.is_leader or partition.deleted:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    log = partition.log
    producers = None if log is None else log.producers
    entry = None if producers is None else producers.producers.get(producer_id)
    if log is None or entry is None:
        return None
    if producer_epoch < entry.producer_epoch:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if log.has_ongoing_transaction(producer_id, producer_epoch):
        return ErrorCode.NONE
    return None
