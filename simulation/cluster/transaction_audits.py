"""Transactions as their coordinators have them: what is pending ends, what is overdue too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.coordinator.txn.states import PREPARED, TransactionState
from mockbroker.metadata.names import TRANSACTION_STATE_TOPIC

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mockbroker.coordinator.txn.metadata import TransactionMetadata
    from mockbroker.coordinator.txn.service import TransactionCoordinatorService
    from mockbroker.coordinator.txn.shard import TransactionShard
    from mockbroker.metadata.store import MetadataStore
    from mockbroker.node.broker import Broker

OVERDUE_MS = 1_000
"""Several of the intervals in which brokers of a run look for them: an abort may fail at first."""


class TransactionAudits:
    """Looks at the transactions of brokers now and then.

    `controller` knows who leads: who does not, and has not heard so, has given up by right when a
    leader told it of a newer coordinator.
    """

    def __init__(self, controller: MetadataStore) -> None:
        self._controller = controller
        self._overdue: dict[TransactionMetadata, tuple[int, float]] = {}
        """Since when one is, that could be aborted, and when it began."""

    def look(self, broker: Broker, now_ms: float) -> Iterator[str]:
        """What is wrong with the transactions that a broker coordinates."""
        services = broker.services
        transactions, replicas = services.transactions, services.replicas
        if not transactions.in_use or broker.requests.unfinished or replicas.has_ready:
            return
        service = transactions.service
        runtime = service.runtime
        for shard in runtime.shards():
            index = shard.partition_index
            partition = replicas.partition(TRANSACTION_STATE_TOPIC, index)
            if partition is None or not runtime.is_owned(index):
                continue
            leader = self._controller.topics[TRANSACTION_STATE_TOPIC].partitions[index].leader
            waits = bool(runtime._deferred.get(index))  # noqa: SLF001 -- for the audit alone
            if not shard.is_settled and not waits:
                yield f"partition {index} waits for what is replicated"
            for name, known in shard.transactions.items():
                if known.pending_state is not None and not waits:
                    yield f"{name} is pending in {known.pending_state.name}, and is not written"
                if leader == broker.broker_id:
                    yield from _wrong_states(service, shard, known)
                wall_ms = services.clock.wall_ms()
                late = _is_late(shard, known, wall_ms) and not partition.is_under_min_isr()
                yield from self._wrong_delay(known, now_ms, late=late)
        for name, pending in service.markers._pending.items():  # noqa: SLF001
            if pending.shard.transactions.get(name) is not pending.metadata:
                yield f"markers of {name} are sent for another coordinator"

    def _wrong_delay(
        self, known: TransactionMetadata, now_ms: float, *, late: bool
    ) -> Iterator[str]:
        began, since_ms = self._overdue.get(known, (-1, 0.0))
        if not late:
            self._overdue.pop(known, None)
        elif began != known.start_ms:
            self._overdue[known] = known.start_ms, now_ms
        elif now_ms - since_ms > OVERDUE_MS:
            yield f"{known.transactional_id} is overdue since {since_ms:.0f}"


def _is_late(shard: TransactionShard, known: TransactionMetadata, wall_ms: int) -> bool:
    return (
        shard.is_settled
        and known.state is TransactionState.ONGOING
        and known.pending_state is None
        and known.start_ms + known.timeout_ms < wall_ms
    )


def _wrong_states(
    service: TransactionCoordinatorService, shard: TransactionShard, known: TransactionMetadata
) -> Iterator[str]:
    if not shard.is_settled:
        return
    name = known.transactional_id
    if known.state in PREPARED and name not in service.markers._pending:  # noqa: SLF001
        yield f"{name} is in {known.state.name}, and nobody ends it"
    task = service._timeouts._abort  # noqa: SLF001
    if known.state is TransactionState.ONGOING and (task is None or not task.pending):
        yield f"{name} is open, and nobody looks whether it is overdue"
