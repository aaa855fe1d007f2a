"""One node of a cluster: its rooms, put together.

`cluster` makes a node at the start and again when a broker comes back; a node that is down has no
broker. Alone in its cluster a node shares clock, timer and metadata with it; beside others it has
its own, so that a crash takes its timers with it and a cut-off node keeps its view.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from mockbroker.apis.context import Services
from mockbroker.apis.registry import EXTENDED, EXTENSION, SERVED, Registry
from mockbroker.coordinator.lazy import LazyCoordinator
from mockbroker.coordinator.log_port import InternalLog
from mockbroker.coordinator.producer_ids import ProducerIdManager
from mockbroker.coordinator.txn.coordinator import TransactionCoordinator
from mockbroker.fetch.manager import FetchManager
from mockbroker.metadata.names import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC
from mockbroker.node.broker import Broker
from mockbroker.replica.manager import ReplicaManager

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from mockbroker.apis.context import Environment, Extension
    from mockbroker.coordinator.group.service import GroupCoordinatorService
    from mockbroker.coordinator.producer_ids import ProducerIdBlocks
    from mockbroker.journal import Journal
    from mockbroker.replica.append_entry import TransactionMarker
    from mockbroker_protocol.errors import ErrorCode


def make_broker(
    environment: Environment,
    producer_id_blocks: ProducerIdBlocks,
    journal: Journal,
    substream: Callable[[str], Random],
) -> Broker:
    """The core of a node in its environment, which others share as far as the cluster likes."""
    node_id, config, clock, timer, metadata, controller, _ = environment
    replicas = ReplicaManager(node_id, clock, timer, config, metadata)
    authorizer = None
    if config.str("authorizer.class.name"):
        from mockbroker.security.authorizer import make_authorizer

        authorizer = make_authorizer(config, metadata)
    registry = Registry(
        config.str("mockbroker.version.profile"),
        {**SERVED, **EXTENDED} if config.bool("coop.extension.enable") else SERVED,
        guarded=authorizer is not None,
    )
    producer_ids = ProducerIdManager(producer_id_blocks)
    group_log = InternalLog(GROUP_METADATA_TOPIC, replicas, clock)

    member_ids = substream("members")

    def make_groups() -> GroupCoordinatorService:
        from mockbroker.coordinator.group.service import GroupCoordinatorService

        companion = None if extension is None else extension.companion
        return GroupCoordinatorService(
            clock, timer, config, metadata, controller, group_log, member_ids, companion
        )

    groups = LazyCoordinator(make_groups)
    extension: Extension | None = None

    def end_group_transaction(
        partition_index: int, marker: TransactionMarker, done: Callable[[ErrorCode], None]
    ) -> None:
        groups.service.offsets.complete_transaction(partition_index, marker, done)

    transactions = TransactionCoordinator(
        clock,
        timer,
        config,
        metadata,
        replicas,
        InternalLog(TRANSACTION_STATE_TOPIC, replicas, clock).append,
        producer_ids,
        end_group_transaction,
    )
    transactions.record = journal.record
    services = Services(
        environment,
        replicas=replicas,
        fetch=FetchManager(clock, config, metadata, replicas, substream("sessions")),
        groups=groups,
        transactions=transactions,
        producer_ids=producer_ids,
        registry=registry,
    )
    services.authorizer, services.substream = authorizer, substream
    if config.bool("coop.extension.enable"):
        services.extension = extension = import_module(EXTENSION).Cooperation(services)
    services.fetch.log.journal = replicas.journal = journal
    services.fetch.log.broker_id = node_id
    if config.int("queued.max.request.bytes") > 0:
        from mockbroker.node.metered_broker import MeteredBroker

        return MeteredBroker(services, registry, journal)
    return Broker(services, registry, journal)
