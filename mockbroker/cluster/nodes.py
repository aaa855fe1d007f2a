"""The nodes of a cluster: what each is, up or down, and what it has only while it is up.

`cluster` makes them; a shell, such as a server, watches the nodes that it serves.

Invariant: a node that is down has no broker, timers or connections, only its config and its logs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from mockbroker.metadata.brokers import BrokerInfo, Endpoint
from mockbroker.replica.kept_logs import KeptLogs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mockbroker.clock import Clock, Timer
    from mockbroker.cluster.links.broker_client import BrokerClient
    from mockbroker.cluster.links.heartbeats import Heartbeat
    from mockbroker.cluster.links.isr_proposals import IsrProposals
    from mockbroker.cluster.links.metadata_feed import MetadataFeed
    from mockbroker.config.broker import BrokerConfig
    from mockbroker.coordinator.leadership import CoordinatorLeadership
    from mockbroker.faults.armed_fault import ArmedFault
    from mockbroker.faults.fault_set import FaultSet
    from mockbroker.log.unified_log import UnifiedLog
    from mockbroker.node.broker import Broker
    from mockbroker.replica.fetchers import ReplicaFetchers
    from mockbroker.replica.partition import Partition

LISTENER = "PLAINTEXT"


class Shell(Protocol):
    """What serves a node, and is told of it: see `NodeWatcher`."""

    def leaving(self) -> None: ...
    def down(self) -> None: ...
    def up(self) -> None: ...
    def network_faults_changed(self) -> None: ...


class NodeWatcher:
    """What the shell of a node is told; a subclass does something about it."""

    __slots__ = ()

    def leaving(self) -> None:
        """The broker stops cleanly: its outbox is to be written before it is gone."""

    def down(self) -> None:
        """The broker is gone, and its connections with it."""

    def up(self) -> None:
        """The broker is back, as `node.broker`."""

    def network_faults_changed(self) -> None:
        """`node.network_faults` are others, or the time has come at which one begins or ends."""


class Incarnation:
    """What a node has while it is up (Kafka: a broker's incarnation id); a crash takes all of it.

    The only node of a cluster shares clock and timer with it.
    """

    def __init__(self, clock: Clock, timer: Timer, broker: Broker) -> None:
        self.clock = clock
        self.timer = timer
        self.broker = broker

    def settle(self) -> None:
        """Complete what was made ready from outside of the broker's own steps."""
        self.broker.requests.drain()


class PeerIncarnation(Incarnation):
    """What a node has while it is up, beside others: clock and timer of its own too."""

    fetchers: ReplicaFetchers
    heartbeat: Heartbeat
    proposals: IsrProposals

    def __init__(self, clock: Clock, timer: Timer, broker: Broker, feed: MetadataFeed) -> None:
        super().__init__(clock, timer, broker)
        self.feed = feed
        self.channels: dict[tuple[int, str], BrokerClient] = {}
        """Connections to other brokers for what coordinators ask, by node id and purpose."""
        self.coordinators: dict[str, CoordinatorLeadership] = {}
        """By the topic that holds what they coordinate."""

    def settle(self) -> None:
        self.broker.requests.drain()
        if self.fetchers.ready:
            self.fetchers.run()

    def role_changed(self, partition: Partition) -> None:
        """A partition came, changed or went here: follow it, coordinate what is in it, or stop."""
        self.fetchers.role_changed(partition)
        coordinator = self.coordinators.get(partition.topic)
        if coordinator is not None:
            coordinator.role_changed(partition)


class Node:
    """One node of a cluster: a broker, or with an id of its own the controller.

    `skew_ms` is what its wall clock is ahead.
    """

    def __init__(self, index: int, config: BrokerConfig, node_id: int | None = None) -> None:
        self.index = index
        self.config = config
        self.node_id = config.node_id if node_id is None else node_id
        self.info = BrokerInfo(self.node_id, {LISTENER: Endpoint()}, config.text("broker.rack"))
        """As it was last registered: what a start after an unregistration begins with."""
        self.incarnation: Incarnation | None = None
        """None while it is down."""
        self.incarnations = 0
        self.epoch = -1
        self.skew_ms = 0
        self.stopped_cleanly = True
        """False once it crashed, until it runs again."""
        self.logs: dict[tuple[bytes, int], UnifiedLog] = {}
        """The logs of a node that is down, by topic id and partition."""
        self.kept_logs = KeptLogs()
        """What open scopes need of its logs; it outlives a crash."""
        self.request_faults: FaultSet | None = None
        """The armed fault rules, while any is about requests."""
        self.login_faults: FaultSet | None = None
        """The same, while any is about logins or their tokens."""
        self.handshake_faults: FaultSet | None = None
        """The same, while any is about TLS handshakes."""
        self.network_faults: Sequence[ArmedFault] = ()
        """The armed fault rules about connections."""
        self.watcher: Shell = NodeWatcher()

    @property
    def broker(self) -> Broker | None:
        """Its core; None while it is down."""
        return None if self.incarnation is None else self.incarnation.broker

    def start(self, incarnation: Incarnation) -> None:
        """It is up from now on."""
        self.incarnation = incarnation
        incarnation.broker.requests.faults = self.request_faults
        incarnation.broker.services.admission.rules = self.login_faults

    def arm(self, faults: FaultSet) -> None:
        """The fault rules are others than before, or act on others."""
        self.request_faults = faults if faults.meets_requests else None
        self.login_faults = faults if faults.meets_logins else None
        self.handshake_faults = faults if faults.meets_handshakes else None
        if self.incarnation is not None:
            broker = self.incarnation.broker
            broker.requests.faults = self.request_faults
            broker.services.admission.rules = self.login_faults
        rules = faults.network_rules
        if rules or self.network_faults:
            self.network_faults = rules
            self.watcher.network_faults_changed()
