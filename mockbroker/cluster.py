"""The cluster: its nodes, and what they share: metadata, controller, clock, timer, randomness.

`launch` and the simulator build one and then drive the brokers in `brokers` by their verbs. One
node for now; every room below takes what it needs from here, so more nodes are a matter of this
room alone.

Invariant: all randomness comes from `substream`, one named stream a purpose, so two clusters made
with the same seed and driven alike answer alike.
"""

from __future__ import annotations

from binascii import b2a_base64
from typing import TYPE_CHECKING

from mockbroker.apis.context import Services
from mockbroker.apis.registry import Registry
from mockbroker.broker import Broker
from mockbroker.clock import Clock, Timer
from mockbroker.config.broker import BrokerConfig
from mockbroker.config.errors import ConfigError
from mockbroker.coordinator.group.coordinator import GroupCoordinator
from mockbroker.coordinator.log_port import InternalLog
from mockbroker.coordinator.producer_ids import ProducerIdBlocks, ProducerIdManager
from mockbroker.coordinator.txn.coordinator import TransactionCoordinator
from mockbroker.fetch.manager import FetchManager
from mockbroker.journal import FaultChanged, Journal
from mockbroker.metadata.brokers import BrokerInfo, Endpoint
from mockbroker.metadata.changes import BrokerChanged
from mockbroker.metadata.controller import Controller
from mockbroker.metadata.names import (
    GROUP_METADATA_TOPIC,
    TRANSACTION_STATE_TOPIC,
    random_uuid,
)
from mockbroker.metadata.store import MetadataStore
from mockbroker.metadata.topic_requests import NewTopic
from mockbroker.replica.manager import ReplicaManager
from protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from random import Random

    from mockbroker.faults.fault_set import ArmedFault, FaultSet
    from mockbroker.quorum.quorum import MetadataQuorum
    from mockbroker.quorum.registrations import ListenerAddress

LISTENER = "PLAINTEXT"


class Cluster:
    """One node and its surroundings.

    `config` holds broker configs as text under Kafka's names, `topics` a partition count by name
    (None: num.partitions). Raises ConfigError for a bad config or a topic that cannot be made.
    """

    def __init__(
        self,
        config: Mapping[str, str],
        topics: Mapping[str, int | None],
        *,
        substream: Callable[[str], Random],
        epoch_ms: int,
    ) -> None:
        broker_config = BrokerConfig(config)
        self._substream = substream
        self.clock = Clock(epoch_ms)
        self.timer = Timer()
        self.journal = Journal()
        cluster_id = b2a_base64(random_uuid(substream("cluster")), newline=False)
        self.metadata = MetadataStore(
            cluster_id.rstrip(b"=").translate(_URL_SAFE).decode(), broker_config
        )
        self.journal.topic_name = self.metadata.topic_name
        self.producer_id_blocks = ProducerIdBlocks()
        self._faults: FaultSet | None = None
        self.controller = Controller(self.metadata, broker_config, substream("topics"))
        self.brokers = [self._make_broker(broker_config, substream)]
        self._create_topics(topics)

    @property
    def faults(self) -> FaultSet:
        """The fault rules, made at first use: a cluster without any imports nothing for them."""
        if self._faults is None:
            from mockbroker.faults.fault_set import FaultSet

            served = {
                int(api.key): (api.min_version, api.max_version)
                for broker in self.brokers
                for api in broker.registry.apis()
            }
            self._faults = FaultSet(
                self.clock,
                served,
                {broker.broker_id: broker for broker in self.brokers},
                self._substream,
                self.metadata.topic_name,
                self._faults_changed,
            )
        return self._faults

    def _faults_changed(self, action: str, armed: ArmedFault | None) -> None:
        """Tell the brokers which rules there are, and the journal what was changed."""
        faults = self.faults
        for broker in self.brokers:
            broker.faults = faults if faults.meets_requests else None
            network = faults.network_rules
            if network or broker.network_faults:
                broker.network_faults = network
                if broker.on_network_faults is not None:
                    broker.on_network_faults()
        if armed is None:
            self.journal.record(FaultChanged(action, "", 0))
        else:
            rule = armed.fault.to_dict() if action == "added" else None
            self.journal.record(FaultChanged(action, armed.id, armed.hits, rule))

    def advertise(self, node: int, host: str | None) -> None:
        """Say under which host clients reach a node; None: the address that each connected to."""
        node_id = self.brokers[node].services.broker_id
        endpoints = {LISTENER: Endpoint(host)}
        self.metadata.apply(BrokerChanged(BrokerInfo(node_id, endpoints)))

    def quorum(self) -> MetadataQuorum:
        """The metadata quorum; RuntimeError without a controller's listener."""
        quorum = self.brokers[0].services.quorum
        if quorum is None:
            raise RuntimeError("there is no metadata log: start it with a controller_port")
        return quorum

    def start_quorum(
        self,
        controller: ListenerAddress,
        broker_listeners: Mapping[int, Sequence[ListenerAddress]],
    ) -> MetadataQuorum:
        """Keep a metadata log from now on, and serve it on the listener named `controller`.

        `broker_listeners` are where the brokers listen, by node id. All of it is imported here, so
        that a broker without such a listener pays nothing.
        """
        from mockbroker.apis.registry import controller_registry
        from mockbroker.metadata.features import finalized
        from mockbroker.quorum.quorum import MetadataQuorum

        services = self.brokers[0].services
        quorum = MetadataQuorum(
            self.metadata,
            self.clock,
            self.timer,
            self._substream("quorum"),
            features=finalized(self.metadata, lambda key: services.registry.get(key) is not None),
            allocate_producer_ids=self.producer_id_blocks.allocate,
            defer=services.defer,
        )
        max_fetch_version = services.config.int("mockbroker.controller.fetch.max.version")
        services.registries[controller.name] = controller_registry(max_fetch_version)
        services.quorum = quorum
        self.metadata.features = dict(quorum.features)
        quorum.start(controller, broker_listeners)
        return quorum

    def _make_broker(self, config: BrokerConfig, substream: Callable[[str], Random]) -> Broker:
        node_id = config.int("node.id")
        self.metadata.apply(BrokerChanged(BrokerInfo(node_id, {LISTENER: Endpoint()})))
        replicas = ReplicaManager(node_id, self.clock, self.timer, config, self.metadata)
        registry = Registry(config.str("mockbroker.version.profile"))
        producer_ids = ProducerIdManager(self.producer_id_blocks)
        group_log = InternalLog(GROUP_METADATA_TOPIC, replicas, self.clock)
        groups = GroupCoordinator(
            self.clock,
            self.timer,
            config,
            self.metadata,
            self.controller,
            group_log.append,
            substream("members"),
            group_log,
        )
        transactions = TransactionCoordinator(
            self.clock,
            self.timer,
            config,
            self.metadata,
            replicas,
            InternalLog(TRANSACTION_STATE_TOPIC, replicas, self.clock).append,
            producer_ids,
            groups.complete_transaction,
        )
        services = Services(
            broker_id=node_id,
            clock=self.clock,
            timer=self.timer,
            config=config,
            metadata=self.metadata,
            controller=self.controller,
            replicas=replicas,
            fetch=FetchManager(self.clock, config, self.metadata, replicas, substream("sessions")),
            groups=groups,
            transactions=transactions,
            producer_ids=producer_ids,
            registry=registry,
            rng=substream("broker"),
        )
        return Broker(services, registry, self.journal)

    def _create_topics(self, topics: Mapping[str, int | None]) -> None:
        for name, count in topics.items():
            wanted = NewTopic(name, -1 if count is None else count)
            (created,) = self.controller.create_topics([wanted])
            if created.error is not ErrorCode.NONE:
                raise ConfigError(f"topic {name}: {created.message}")


_URL_SAFE = bytes.maketrans(b"+/", b"-_")
