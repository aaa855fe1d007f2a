"""A transactional id that is forgotten, at rest, while its transaction is open.

A test may have a coordinator forget an id: what is open is aborted first, once, however often that
is asked; then the id may go.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from mockbroker.coordinator.runtime import partition_for
from mockbroker.coordinator.txn.states import TransactionState
from mockbroker.metadata.names import TRANSACTION_STATE_TOPIC
from mockbroker_protocol.messages.transactions import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    InitProducerIdRequest,
)
from simulation.clients import frame_of

if TYPE_CHECKING:
    from mockbroker.coordinator.txn.metadata import TransactionMetadata
    from mockbroker.coordinator.txn.service import TransactionCoordinatorService
    from mockbroker.node.broker import Broker
    from simulation.cluster.world import ClusterWorld

NAME = "forgotten"
TIMEOUT_MS = 30_000
INIT, ADD = 4, 3
DONE_MS = 1_000.0


def check_forgotten_id(world: ClusterWorld, topic: str) -> None:
    """Open a transaction, and have its id forgotten."""
    broker = _coordinator(world)
    if broker is None:
        return
    init = InitProducerIdRequest(NAME, TIMEOUT_MS, -1, -1)
    world.probe(frame_of(init, INIT, 1, NAME), broker)
    world.run_for(DONE_MS)
    known = _known(broker)
    if known is None:
        return
    add = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=NAME,
        v3_and_below_producer_id=known.producer_id,
        v3_and_below_producer_epoch=known.producer_epoch,
        v3_and_below_topics=[AddPartitionsToTxnTopic(topic, [0])],
    )
    world.probe(frame_of(add, ADD, 1, NAME), broker)
    world.run_for(DONE_MS)
    if known.state is not TransactionState.ONGOING:
        return
    for told, wanted in ((2, TransactionState.COMPLETE_ABORT), (1, None)):
        service = broker.services.transactions.service
        world.operate(partial(_forget, service, told))
        world.run_for(DONE_MS)
        if _coordinator(world) is not broker:
            return
        left = _known(broker)
        if (None if left is None else left.state) is not wanted:
            world.violate(f"{NAME} is to be forgotten, and is {left}")


def _forget(service: TransactionCoordinatorService, times: int) -> None:
    for _ in range(times):
        service.forget(NAME)


def _coordinator(world: ClusterWorld) -> Broker | None:
    topic = world.cluster.metadata.topics.get(TRANSACTION_STATE_TOPIC)
    if topic is None:
        return None
    state = topic.partitions[partition_for(NAME, len(topic.partitions))]
    return world.cluster.broker(state.leader)


def _known(broker: Broker) -> TransactionMetadata | None:
    transactions = broker.services.transactions
    for shard in transactions.service.runtime.shards() if transactions.in_use else ():
        if NAME in shard.transactions:
            return shard.transactions[NAME]
    return None
