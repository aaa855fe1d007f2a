"""Transactional batches, held before a broker's logs beside a run: may they be appended?

A verifier of the broker's own kind is asked about its partitions and the producers that their logs
know; its coordinator answers here. Nothing is appended.

- A batch of an epoch before that of the log is refused, and one of a transaction that is open there
  goes through: the coordinator is asked about neither.
- Of others the coordinator's answer counts, told as the client's version knows it. While another
  transaction is being ended, one that adds its partition by itself is asked about again, for a
  while (KIP-890, AddPartitionsToTxnManager).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.clock import Clock, Timer
from mockbroker.coordinator.txn.verification import (
    Operation,
    TransactionVerifier,
    produce_operation,
    txn_offset_commit_operation,
)
from mockbroker_protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from random import Random

    from mockbroker.coordinator.txn.metadata import TopicPartition
    from mockbroker.node.broker import Broker
    from mockbroker.replica.partition import Partition
    from mockbroker_protocol.messages.transactions import AddPartitionsToTxnTransaction

    Refused = dict[Partition, ErrorCode]
    OnErrors = Callable[[dict[TopicPartition, ErrorCode]], None]

ANSWERS = (
    ErrorCode.NONE,
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.TRANSACTION_ABORTABLE,
    ErrorCode.TRANSACTION_ABORTABLE,
    ErrorCode.PRODUCER_FENCED,
    ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
)
VERSIONS = (
    (produce_operation, (10, 11, 12)),
    (txn_offset_commit_operation, (3, 4, 5)),
)
OPERATIONS = Operation.VERIFY, Operation.VERIFY_ABORTABLE, Operation.ADD
"""Of the versions above, in their order."""
NOBODY = 1 << 40
STRANGER_CHANCE, PATIENT_CHANCE = 0.1, 0.7
VERIFIES = "transaction.partition.verification.enable"
NO_OFFSET = -1
BACKOFF, MOST_BACKOFF = (
    "add.partitions.to.txn.retry.backoff.ms",
    "add.partitions.to.txn.retry.backoff.max.ms",
)


class _Coordinator:
    """Answers as it is told to; `asked` is what about."""

    def __init__(self, error: ErrorCode) -> None:
        self._error = error
        self.asked: list[AddPartitionsToTxnTransaction] = []

    def add_or_verify(
        self, transaction: AddPartitionsToTxnTransaction, on_complete: OnErrors
    ) -> None:
        """As `AnswersBatches.add_or_verify`."""
        self.asked.append(transaction)
        on_complete(
            {
                (topic.name, index): self._error
                for topic in transaction.topics
                for index in topic.partitions
            }
        )


class _Batch:
    """One that is to be appended: what its check tells, and when."""

    def __init__(
        self, broker: Broker, partition: Partition, producer: tuple[int, int], error: ErrorCode
    ) -> None:
        services = broker.services
        self.what = f"a batch of epoch {producer[1]} of {producer[0]} to {partition!r}"
        self.clock = Clock(services.clock.epoch_ms, services.clock.now_ms)
        self.began_ms = services.clock.now_ms
        self.config = services.config
        self.partition = partition
        self.producer = producer
        self.error = error
        self.refused: list[Refused] = []
        self.coordinator = _Coordinator(error)

    def check(self, operation: Operation, *, patient: bool) -> Iterator[str]:
        """Have it checked, and wait for what comes."""
        config, timer = self.config, Timer()
        verifier = TransactionVerifier(self.clock, timer, config, self.coordinator)
        told = "probed", *self.producer, [self.partition], operation, self.refused.append
        verifier.check(*told, patient=patient)
        known, waits_ms = _known_to_log(self.partition, *self.producer), 0
        if known is None and self.error is ErrorCode.CONCURRENT_TRANSACTIONS:
            most_ms = min(config.int(MOST_BACKOFF), config.int("request.timeout.ms"))
            waits_ms = most_ms if patient and operation is Operation.ADD else 0
        while (deadline_ms := timer.next_deadline()) is not None:
            self.clock.now_ms = max(self.clock.now_ms, deadline_ms)
            if self.clock.now_ms > self.began_ms + waits_ms + config.int(BACKOFF) + 1:
                yield f"{self.what} waits until {deadline_ms}, not for {waits_ms} ms"
                return
            timer.advance(self.clock.now_ms)
        if self.clock.now_ms < self.began_ms + waits_ms:
            yield f"{self.what} does not wait for {waits_ms} ms"
        yield from self._wrong_answer(operation, known)

    def _wrong_answer(self, operation: Operation, known: ErrorCode | None) -> Iterator[str]:
        asked = self.coordinator.asked
        if bool(asked) != (known is None):
            yield f"{self.what}: the coordinator is asked {len(asked)} times, to the log {known!r}"
        if any(one.verify_only is (operation is Operation.ADD) for one in asked):
            yield f"{self.what} is added or verified by {operation}"
        wanted = _told(self.error, operation) if known is None else known
        if self.refused != [{self.partition: wanted} if wanted else {}]:
            yield (
                f"{self.what} is answered {self.refused}, not {wanted!r}, by {operation} after "
                f"{self.error!r}"
            )


class VerificationProbes:
    """Asks about one partition at a time; `look` tells what is wrong."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self.asked = 0

    def look(self, broker: Broker) -> Iterator[str]:
        """About one of a broker's partitions."""
        services, rng = broker.services, self._rng
        partitions = [
            each
            for each in services.replicas.all_partitions()
            if each.log is not None and each.log.producers is not None and not each.deleted
        ]
        if not partitions or not services.config.bool(VERIFIES):
            return
        partition, at = rng.choice(partitions), rng.randrange(len(OPERATIONS))
        operation_of, versions = rng.choice(VERSIONS)
        operation = operation_of(versions[at])
        if operation is not OPERATIONS[at]:
            yield f"v{versions[at]} lets {operation}"
        batch = _Batch(broker, partition, self._producer(partition), rng.choice(ANSWERS))
        self.asked += 1
        yield from batch.check(operation, patient=rng.random() < PATIENT_CHANCE)

    def _producer(self, partition: Partition) -> tuple[int, int]:
        """One that the log knows, with its epoch or another; or a stranger."""
        log = partition.log
        assert log is not None
        assert log.producers is not None
        producers, rng = log.producers.producers, self._rng
        if not producers or rng.random() < STRANGER_CHANCE:
            return NOBODY, 0
        producer_id = rng.choice(sorted(producers))
        epoch = producers[producer_id].producer_epoch
        return producer_id, rng.choice((epoch, epoch + 1, max(epoch - 1, 0)))


def _known_to_log(partition: Partition, producer_id: int, epoch: int) -> ErrorCode | None:
    """What a leader knows without its coordinator; None: nothing."""
    log = partition.log
    if not partition.is_leader or log is None or log.producers is None:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    known = log.producers.producers.get(producer_id)
    if known is None:
        return None
    if epoch < known.producer_epoch:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    is_open = epoch == known.producer_epoch and known.current_txn_first_offset != NO_OFFSET
    return ErrorCode.NONE if is_open else None


def _told(error: ErrorCode, operation: Operation) -> ErrorCode:
    """What the client is told of a coordinator's answer (AddPartitionsToTxnHandler)."""
    if error is ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    is_new = error is ErrorCode.TRANSACTION_ABORTABLE
    return ErrorCode.INVALID_TXN_STATE if is_new and operation is Operation.VERIFY else error
