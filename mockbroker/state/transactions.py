"""Transactions as values, and forcing one to end. Called by `admin` and `testing`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from mockbroker.coordinator.txn.states import STATE_NAMES, TransactionState

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mockbroker.cluster.cluster import Cluster
    from mockbroker.coordinator.txn.metadata import TransactionMetadata
    from mockbroker.coordinator.txn.service import TransactionCoordinatorService


DEAD: Final = STATE_NAMES[TransactionState.DEAD]
FORGET_TIMEOUT_MS: Final = 10_000
"""How long the abort of an open transaction may take, with its markers."""


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


def unknown(transactional_id: str) -> Transaction:
    """What is told of an id that there is not."""
    return Transaction(transactional_id, DEAD, -1, -1, -1, -1, [])


def forget(cluster: Cluster, transactional_id: str) -> bool:
    """Abort what is open and forget the id; False when there is none. Its producer is fenced.

    Beside other brokers an abort is replicated first: call it again once `may_be_forgotten`.
    """
    for service, metadata in list(every_transaction(cluster)):
        if metadata.transactional_id == transactional_id:
            service.forget(transactional_id)
            return True
    return False


def may_be_forgotten(cluster: Cluster, transactional_id: str) -> bool:
    """Whether `forget` takes the id away at once, or there is none."""
    return all(
        metadata.may_be_forgotten
        for _, metadata in every_transaction(cluster)
        if metadata.transactional_id == transactional_id
    )


def why_not_forgotten(cluster: Cluster, transactional_id: str) -> str:
    """Why an id is still there that should be forgotten."""
    found = transaction(cluster, transactional_id)
    state = DEAD if found is None else found.state
    return f"transactional id {transactional_id}: its abort was not replicated, it is {state}"


def every_transaction(
    cluster: Cluster,
) -> Iterator[tuple[TransactionCoordinatorService, TransactionMetadata]]:
    """Every transactional id, with the coordinator that has it; none that is being forgotten."""
    for broker in cluster.brokers:
        transactions = broker.services.transactions
        if transactions.in_use:
            for shard in transactions.service.runtime.shards():
                for metadata in shard.transactions.values():
                    if metadata.pending_state is not TransactionState.DEAD:
                        yield transactions.service, metadata
