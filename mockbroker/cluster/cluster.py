"""The cluster: its nodes, and what they share: metadata, controller, clock, timer, randomness.

`server` and the simulation build one and then drive it. Each node's broker is fed by its own verbs;
after each step of any of them `drain` lets arrive what it sent to the others, and `take_outbox`
gives what each wants written to its clients. One broker is a cluster of one without links: it
shares the clock and the metadata with its cluster, where several have their own (`peers`), and so
has one that brokers of other processes may join. The controller that these need is a core of its
own: it shares the clock and the metadata, and outlives each broker.
`controls` is what tests do to a cluster.

Invariant: all randomness comes from `substream`, one named stream a purpose, so two clusters made
with the same seed and driven alike answer alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.apis.context import Environment
from mockbroker.clock import Clock, Timer
from mockbroker.cluster.interconnect import Interconnect
from mockbroker.cluster.links.link import CONTROLLER
from mockbroker.cluster.nodes import LISTENER, Incarnation, Node
from mockbroker.config.broker import BrokerConfig
from mockbroker.config.errors import ConfigError
from mockbroker.coordinator.producer_ids import ProducerIdBlocks
from mockbroker.journal import FaultChanged, Journal
from mockbroker.metadata.brokers import Endpoint
from mockbroker.metadata.changes import BrokerChanged
from mockbroker.metadata.controller import Controller
from mockbroker.metadata.names import random_uuid
from mockbroker.metadata.store import MetadataStore
from mockbroker.metadata.topic_requests import NewTopic
from mockbroker.node.assembly import make_broker
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.primitives import uuid_text

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from random import Random

    from mockbroker.cluster.controls import ClusterControls
    from mockbroker.cluster.peers import Peers
    from mockbroker.faults.armed_fault import ArmedFault
    from mockbroker.faults.fault_set import FaultSet
    from mockbroker.node.broker import Broker
    from mockbroker.node.outbox import Outgoing
    from mockbroker.quorum.quorum import MetadataQuorum
    from mockbroker.quorum.registrations import ListenerAddress


class Cluster:
    """Brokers and their surroundings.

    `config` holds broker configs as text under Kafka's names, `topics` a partition count by name
    (None: num.partitions). Node ids count from node.id; `racks` are those of the brokers in turn;
    `cluster_id` None: drawn; `outsiders`: `start_quorum` will be called.
    Raises ConfigError for a bad config or a topic that cannot be made.
    """

    def __init__(
        self,
        config: Mapping[str, str],
        topics: Mapping[str, int | None],
        *,
        substream: Callable[[str], Random],
        epoch_ms: int,
        brokers: int = 1,
        racks: Sequence[str | None] = (),
        cluster_id: str | None = None,
        outsiders: bool = False,
    ) -> None:
        self._substream = substream
        configs = _configs(config, brokers, racks)
        alone = brokers == 1 and not outsiders
        self.clock = Clock(epoch_ms)
        self.timer = Timer()
        self.journal = Journal()
        drawn = uuid_text(random_uuid(substream("cluster")))
        self.metadata = MetadataStore(
            cluster_id or drawn,
            configs[0] if alone else _configs(config, brokers, racks)[0],
        )
        self.journal.topic_name = self.metadata.topic_name
        self.producer_id_blocks = ProducerIdBlocks()
        self._faults: FaultSet | None = None
        self.other_certificates: Collection[str] = ()
        """What fault rules may have listeners show in place of their own certificate."""
        self.controller = Controller(self.metadata, self.metadata.config, substream("topics"))
        self.nodes = [Node(index, each) for index, each in enumerate(configs)]
        """By node id; they stay whether they are up or down."""
        self.interconnect = Interconnect(self.nodes, self.clock, self.timer)
        self.end_step: Callable[[], None] | None = None
        """Let arrive what brokers sent each other: call it after each verb of one. None: the only
        one has nobody to hear from, and what its verbs made ready is done.
        """
        self._settle: Callable[[], None]
        self.next_deadline: Callable[[], float | None] = self.timer.next_deadline
        """When `tick` is wanted next, in ms on the core's clock; None: nothing waits."""
        self.peers: Peers | None = None
        """What there is only if there are several brokers, or may be."""
        for node in self.nodes:
            self.metadata.apply(BrokerChanged(node.info))
        if alone:
            self._start_alone(self.nodes[0])
        else:
            from mockbroker.cluster.peers import Peers

            self.peers = Peers(
                self.interconnect,
                self.metadata,
                self.controller,
                self.producer_id_blocks,
                self.journal,
                substream,
            )
            self.next_deadline = self.peers.next_deadline
            self.end_step = self._settle = self.peers.end_step
        self._create_topics(topics)
        self.drain(0.0)

    def _start_alone(self, node: Node) -> None:
        """The only broker: what the controller decides is what it knows."""
        broker = self._make_core(node)
        broker.services.replicas.kept_logs = node.kept_logs
        self._settle = broker.requests.drain

    def _make_core(self, node: Node) -> Broker:
        """Start a node on the clock, the timer and the metadata of the cluster itself."""
        rng = self._substream("broker")
        environment = Environment(
            node.node_id,
            node.config,
            self.clock,
            self.timer,
            self.metadata,
            self.controller,
            rng,
        )
        broker = make_broker(environment, self.producer_id_blocks, self.journal, self._substream)
        node.start(Incarnation(self.clock, self.timer, broker))
        return broker

    # -- the brokers -----------------------------------------------------------------------

    @property
    def brokers(self) -> list[Broker]:
        """The brokers that are up, by node id."""
        return [each.incarnation.broker for each in self.nodes if each.incarnation is not None]

    @property
    def cores(self) -> list[Broker]:
        """The brokers that are up, and the controller if it has a listener."""
        controller = self.interconnect.controller
        core = None if controller is None else controller.broker
        return self.brokers if core is None else [*self.brokers, core]

    def broker(self, node_id: int) -> Broker | None:
        """The broker of this id, None while it is down or when there is none."""
        node = self.interconnect.node(node_id)
        return None if node is None else node.broker

    @property
    def controls(self) -> ClusterControls:
        """What may be done to the cluster from outside."""
        from mockbroker.cluster.controls import ClusterControls

        return ClusterControls(self.metadata, self.controller, self.interconnect, self.peers)

    def advertise(
        self, node: int, host: str | None, port: int | None = None, listener: str = LISTENER
    ) -> None:
        """Say where clients reach a node by a listener; None: as each has connected to whom it
        asks.
        """
        node_id = self.metadata.config.node_id + node
        known = self.metadata.brokers.get(node_id)
        if known is not None:  # else it was unregistered
            endpoints = {**known.endpoints, listener: Endpoint(host, port)}
            info = self.nodes[node].info = known._replace(endpoints=endpoints)
            self.metadata.apply(BrokerChanged(info))

    def register_all(self) -> None:
        """Put nodes that were unregistered (UnregisterBroker) on the books again."""
        for node in self.nodes:
            if node.node_id not in self.metadata.brokers:
                self.metadata.apply(BrokerChanged(node.info))
                if self.peers is not None and node.incarnation is not None:
                    self.peers.sessions.begin(node.node_id)

    # -- fault rules -----------------------------------------------------------------------

    @property
    def has_faults(self) -> bool:
        """Whether a fault rule was ever looked for or armed."""
        return self._faults is not None

    @property
    def faults(self) -> FaultSet:
        """The fault rules, made at first use: a cluster without any imports nothing for them."""
        if self._faults is None:
            from mockbroker.apis.registry import Registry
            from mockbroker.faults.fault_set import FaultSet

            # Not of the brokers that are up: there may be none.
            profile = self.metadata.config.str("mockbroker.version.profile")
            self._faults = FaultSet(
                self.clock,
                Registry(profile).versions(),
                dict.fromkeys(self.metadata.brokers),
                self._substream,
                self.metadata.topic_name,
                self._faults_changed,
            )
            self._faults.certificates = self.other_certificates
        return self._faults

    def _faults_changed(self, action: str, changed: Sequence[ArmedFault]) -> None:
        """Tell the brokers which rules there are, and the journal what was changed."""
        self._arm()
        if not changed:
            self.journal.record(FaultChanged(action, "", 0))
        for armed in changed:
            rule = None
            if action == "added":
                rule = armed.fault.to_dict()
                armed.cursor = self.journal.cursor()
            self.journal.record(FaultChanged(action, armed.id, armed.hits, rule))
        if action in ("added", "restored"):
            from mockbroker.faults.fault import CONNECTIONS

            for one in changed or self.faults.network_rules:
                is_network = one.fault.about == CONNECTIONS
                for time_ms in (one.starts_ms, one.ends_ms) if is_network else ():
                    if time_ms is not None and time_ms > self.clock.now_ms:
                        self.timer.schedule(time_ms, self._arm)

    def _arm(self) -> None:
        """The fault rules are others, or a rule about connections begins or ends by its time."""
        controller = self.interconnect.controller
        for node in self.nodes if controller is None else (*self.nodes, controller):
            node.arm(self.faults)

    # -- the metadata log -----------------------------------------------------------------------

    def quorum(self) -> MetadataQuorum:
        """The metadata quorum; RuntimeError without a controller's listener."""
        quorum = None if self.peers is None else self.peers.quorum
        if quorum is None:
            raise RuntimeError("there is no metadata log: start it with a controller_port")
        return quorum

    def add_controller(self) -> Node:
        """Make the controller's node, a core without replicas, before its listener is bound.

        Only with `outsiders`; `start_quorum` does it too.
        """
        node = self.interconnect.controller
        if node is None:
            node = Node(len(self.nodes), self.metadata.config, CONTROLLER)
            self._make_core(node)
            self.interconnect.controller = node
            if self._faults is not None:
                node.arm(self._faults)
        return node

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

        assert self.peers is not None, "made without outsiders"
        core = self.add_controller().broker
        assert core is not None
        services = core.services
        quorum = MetadataQuorum(
            self.metadata,
            services.clock,
            services.timer,
            self._substream("quorum"),
            controller=self.controller,
            features=finalized(self.metadata, lambda key: services.registry.get(key) is not None),
            allocate_producer_ids=self.producer_id_blocks.allocate,
            defer=services.defer,
        )
        max_fetch_version = services.config.int("mockbroker.controller.fetch.max.version")
        services.registries[controller.name] = controller_registry(
            max_fetch_version, guarded=services.authorizer is not None
        )
        quorum.start(controller, broker_listeners)
        self.peers.quorum = quorum
        for broker in self.cores:
            broker.services.quorum = quorum
        return quorum

    # -- driving ---------------------------------------------------------------------------

    def tick(self, now_ms: float) -> None:
        """Time passed: run what is due in all brokers. Call it when `next_deadline` is reached."""
        self.set_time(now_ms)
        controller = self.interconnect.controller
        if controller is not None and controller.broker is not None:
            controller.broker.tick(now_ms)
        elif self.peers is not None:  # else the timer is the broker's
            self.timer.advance(now_ms)
        for broker in self.brokers:
            broker.tick(now_ms)
        self._settle()

    def skip_idle(self, until_ms: float) -> None:
        """Skip rounds among brokers in which nothing can change, in a time without clients.

        To be called between steps; what is due afterwards, by `until_ms`, is for `tick` still.
        Rounds of brokers outside are their own: with such nothing is skipped.
        """
        peers = self.peers
        if peers is not None and (
            peers.quorum is None or not peers.quorum.remote_brokers.registered
        ):
            peers.idle_rounds.skip(until_ms)

    @property
    def rounds_skipped(self) -> int:
        """How many rounds among brokers were skipped since the start."""
        return 0 if self.peers is None else sum(self.peers.idle_rounds.skipped.values())

    def set_time(self, now_ms: float) -> None:
        """What time it is for a step that no broker's verb begins."""
        self.clock.now_ms = now_ms
        if self.peers is not None:
            self.peers.set_time(now_ms)

    def move_wall(self, by_ms: int) -> None:
        """Move the wall time of all, and no deadline."""
        self.clock.epoch_ms += by_ms
        for node in self.nodes:
            if node.incarnation is not None:
                node.incarnation.clock.epoch_ms = self.clock.epoch_ms + node.skew_ms
                node.incarnation.broker.services.replicas.upkeep.wall_moved(by_ms)

    def drain(self, now_ms: float) -> None:
        """Complete what is ready, and as `end_step`: of a step that none of the verbs began."""
        if now_ms > self.clock.now_ms:
            self.set_time(now_ms)
        self._settle()

    def release_parked(self, now_ms: float) -> None:
        """Answer every parked request, of all brokers and of the controller (a clean shutdown)."""
        if self.peers is not None and self.peers.quorum is not None:
            self.peers.quorum.release_parked()
        for broker in self.cores:
            broker.release_parked(now_ms)

    def take_outbox(self, index: int) -> list[Outgoing]:
        """What a broker, by its position, wants written to its clients. Call `drain` before."""
        broker = self.nodes[index].broker
        return [] if broker is None else broker.take_outbox()

    def _create_topics(self, topics: Mapping[str, int | None]) -> None:
        for name, count in topics.items():
            wanted = NewTopic(name, -1 if count is None else count)
            (created,) = self.controller.create_topics([wanted])
            if created.error is not ErrorCode.NONE:
                raise ConfigError(f"topic {name}: {created.message}")


def _configs(
    config: Mapping[str, str], brokers: int, racks: Sequence[str | None]
) -> list[BrokerConfig]:
    """The configs of each broker. Beside others, topics have up to three replicas by default."""
    if brokers == 1 and not racks:
        return [BrokerConfig(config)]
    first_id = BrokerConfig(config).node_id
    factor = str(min(3, brokers))
    common = dict.fromkeys(_REPLICATION_FACTORS, factor) | dict(config)
    if brokers > 2:
        common = {
            "transaction.state.log.min.isr": "2",
            "share.coordinator.state.topic.min.isr": "2",
        } | common
    common.pop("broker.id", None)
    configs = []
    for index in range(brokers):
        own = {"node.id": str(first_id + index)}
        rack = racks[index] if index < len(racks) else None
        if rack is not None:
            own["broker.rack"] = rack
        configs.append(BrokerConfig(common | own))
    return configs


_REPLICATION_FACTORS = (
    "default.replication.factor",
    "offsets.topic.replication.factor",
    "transaction.state.log.replication.factor",
    "share.coordinator.state.topic.replication.factor",
)
