"""Transactions as values, and forcing one to end. Called by `admin` and `cleaning`."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mockbroker.cluster.cluster import Cluster
    from mockbroker.coordinator.txn.metadata import TransactionMetadata
    from mockbroker.coordinator.txn.service import TransactionCoordinatorService


class Transaction(NamedTuple):
    """One transactional id and its latest transaction; times in epoch ms, -1 before the first."""

    transactional_id: str
    state: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    started_ms: int
    partitions: list[tuple[str, int]]


def transactional_ids(cluster: Cluster) -> list[str]:
    """The transactional ids that there are, in order."""
    return sorted(metadata.transactional_id for _, metadata in every_transaction(cluster))


def transaction(cluster: Cluster, transactional_id: str) -> Transaction | None:
    """What the coordinator knows of an id; None: nothing."""
    from mockbroker.coordinator.txn.views import describe_transaction

    for _, metadata in every_transaction(cluster):
        if metadata.transactional_id == transactional_id:
            told = describe_transaction(metadata)
            return Transaction(
                transactional_id,
                told.transaction_state,
                told.producer_id,
                told.producer_epoch,
                told.transaction_timeout_ms,
                told.transaction_start_time_ms,
                [(topic.topic, index) for topic in told.topics for index in topic.partitions],
            )
    return None


def forget(cluster: Cluster, transactional_id: str) -> bool:
    """Abort what is open and forget the id; False when there is none. Its producer is fenced."""
    for service, metadata in list(every_transaction(cluster)):
        if metadata.transactional_id == transactional_id:
            service.forget(transactional_id)
            return True
    return False


def every_transaction(
    cluster: Cluster,
) -> Iterator[tuple[TransactionCoordinatorService, TransactionMetadata]]:
    """Every transactional id, with the coordinator that has it."""
    for broker in cluster.brokers:
        transactions = broker.services.transactions
        if transactions.in_use:
            for shard in transactions.service.runtime.shards():
                for metadata in shard.transactions.values():
                    yield transactions.service, metadata
