"""Which partitions belong to a transaction: AddPartitionsToTxn, AddOffsetsToTxn, verification.

TransactionCoordinator.handleAddPartitionsToTransaction and handleVerifyPartitionsInTransaction.

| transactional id                | add                | verify                          |
|---------------------------------|--------------------|---------------------------------|
| empty                           | 42                 | 42                              |
| unknown                         | 49                 | 49                              |
| pending or Prepare…             | 51                 | goes on                         |
| another producer id             | 49                 | 49                              |
| another epoch                   | 90                 | 90                              |
| Prepare…                        |                    | 51                              |
| Ongoing, all of them are in     | NONE, no record    | NONE                            |
| else                            | Ongoing, with them | 120 for each that is not in     |

A pending transition goes first because it may exchange the producer id for the one that the
producer already has (transactions V2). Verification looks at what is replicated alone: the log has
the last word when the batch is appended.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.coordinator.txn.metadata import add_partitions
from mockbroker.coordinator.txn.states import PREPARED, TransactionState
from mockbroker_protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Collection

    from mockbroker.coordinator.txn.metadata import TopicPartition, TransactionMetadata, Transition


def decide_add_partitions(
    current: TransactionMetadata | None,
    producer_id: int,
    producer_epoch: int,
    partitions: Collection[TopicPartition],
    client_transaction_version: int,
    now_ms: int,
) -> Transition | ErrorCode:
    """The transaction with these partitions; NONE when it has them."""
    if current is not None and current.is_in_transition:
        return ErrorCode.CONCURRENT_TRANSACTIONS
    error = _check_producer(current, producer_id, producer_epoch)
    if current is None or error is not ErrorCode.NONE:
        return error
    if current.state is TransactionState.ONGOING and all(
        partition in current.partitions for partition in partitions
    ):
        return ErrorCode.NONE
    return add_partitions(current, partitions, client_transaction_version, now_ms)


def verify_partitions(
    current: TransactionMetadata | None,
    producer_id: int,
    producer_epoch: int,
    partitions: Collection[TopicPartition],
) -> dict[TopicPartition, ErrorCode]:
    """Whether each partition is in the producer's open transaction (KIP-890)."""
    error = _check_producer(current, producer_id, producer_epoch)
    if current is not None and error is ErrorCode.NONE and current.state in PREPARED:
        error = ErrorCode.CONCURRENT_TRANSACTIONS
    if current is None or error is not ErrorCode.NONE:
        return dict.fromkeys(partitions, error)
    return {
        partition: ErrorCode.NONE
        if partition in current.partitions
        else ErrorCode.TRANSACTION_ABORTABLE
        for partition in partitions
    }


def _check_producer(
    current: TransactionMetadata | None, producer_id: int, producer_epoch: int
) -> ErrorCode:
    if current is None or current.producer_id != producer_id:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    if current.producer_epoch != producer_epoch:
        return ErrorCode.PRODUCER_FENCED
    return ErrorCode.NONE
