"""Brokers beside others: how they start and stop, follow each other and hear of the controller.

`cluster` makes it when there is more than one broker, or others may come from outside; one broker
alone imports none of it. All that
the rooms of a broker are bound to because it has peers is bound here, in `_bind`.

Invariants: the controller knows a broker by the heartbeats of its present incarnation only; all
loops run in the order of node ids.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from mockbroker.apis.context import Environment
from mockbroker.clock import Clock, Timer
from mockbroker.cluster.idle_rounds import IdleRounds
from mockbroker.cluster.links.broker_client import BrokerClient
from mockbroker.cluster.links.forwarding import ForwardingController
from mockbroker.cluster.links.heartbeats import BrokerSessions, Heartbeat
from mockbroker.cluster.links.isr_proposals import IsrProposals
from mockbroker.cluster.links.link import CONTROLLER
from mockbroker.cluster.links.metadata_feed import MetadataFeed, copy_of
from mockbroker.cluster.nodes import PeerIncarnation
from mockbroker.coordinator.leadership import CoordinatorLeadership
from mockbroker.coordinator.log_port import InternalLog
from mockbroker.log import recovery
from mockbroker.metadata.changes import BrokerChanged
from mockbroker.metadata.names import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC
from mockbroker.metadata.store import MetadataStore
from mockbroker.node.assembly import make_broker
from mockbroker.replica.fetchers import ReplicaFetchers

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from mockbroker.apis.context import Services
    from mockbroker.cluster.interconnect import Interconnect
    from mockbroker.cluster.links.link import Link
    from mockbroker.cluster.nodes import Node
    from mockbroker.coordinator.lazy import LazyCoordinator
    from mockbroker.coordinator.producer_ids import ProducerIdBlocks
    from mockbroker.journal import Journal
    from mockbroker.log.unified_log import UnifiedLog
    from mockbroker.metadata.changes import Change
    from mockbroker.metadata.controller import Controller
    from mockbroker.metadata.replication_control import ReplicationControl
    from mockbroker.quorum.quorum import MetadataQuorum
    from mockbroker.replica.partition import Partition


class Peers:
    """The nodes of an interconnect around one controller, which decides in `store`."""

    def __init__(
        self,
        interconnect: Interconnect,
        store: MetadataStore,
        controller: Controller,
        producer_id_blocks: ProducerIdBlocks,
        journal: Journal,
        substream: Callable[[str], Random],
    ) -> None:
        self.interconnect = interconnect
        self.nodes = interconnect.nodes
        self.clock = interconnect.clock
        self.timer = interconnect.timer
        self.links = interconnect.links
        self.store = store
        self.controller = controller
        self.control: ReplicationControl = controller.replication
        self.running: dict[int, PeerIncarnation] = {}
        """By node id: those that are up."""
        self.tells_high_watermark = True
        """Whether followers tell what high watermark they know: Fetch v18, KIP-1166."""
        self.quorum: MetadataQuorum | None = None
        """There once the metadata log is served."""
        self._producer_id_blocks = producer_id_blocks
        self._journal = journal
        self._substream = substream
        self._next_epoch = 0
        config = self.nodes[0].config
        self.sessions = BrokerSessions(
            self.clock, self.timer, self.control, config.int("broker.session.timeout.ms")
        )
        store.subscribe(self._publish)
        for node in self.nodes:
            self._start(node)
        self.control.supervise(self.clock, self.timer, config)
        self.idle_rounds = IdleRounds(interconnect, self.sessions, self.control, self.running)

    # -- start and stop ------------------------------------------------------------------------

    def stop(self, node: Node) -> None:
        """Stop cleanly: leaders move first, and who waits is answered.

        Kafka: BrokerLifecycleManager.beginControlledShutdown, and the controller's
        BrokerHeartbeatManager, which lets the broker go once it leads nothing.
        """
        interconnect = self.interconnect
        self.control.begin_shutdown(node.node_id)
        interconnect.drain()
        self.running[node.node_id].broker.release_parked(self.clock.now_ms)
        interconnect.drain()
        for partition in self.running[node.node_id].broker.services.replicas.all_partitions():
            if partition.log is not None:
                recovery.flush(partition.log)
        node.watcher.leaving()
        self.take_down(node, fence=True)

    def kill(self, node: Node, *, fence: bool, lose_unflushed: bool) -> None:
        """The broker crashes; `lose_unflushed`: what its logs had not flushed goes with it."""
        if lose_unflushed:
            for partition in self.running[node.node_id].broker.services.replicas.all_partitions():
                if partition.log is not None:
                    recovery.lose_unflushed(partition.log_to_write())
        self.take_down(node, fence=fence)
        node.stopped_cleanly = False

    def take_down(self, node: Node, *, fence: bool) -> None:
        """The broker is gone from one moment to the next; its logs stay.

        With `fence` the controller knows at once, else when the broker's session times out.
        """
        incarnation = self.running.pop(node.node_id)
        incarnation.feed.close()
        incarnation.heartbeat.stop()
        node.incarnation = None
        node.logs = {}
        for partition in incarnation.broker.services.replicas.all_partitions():
            node.kept_logs.forget(partition)
            if partition.log is not None:
                node.logs[partition.topic_id, partition.index] = partition.log
        incarnation.broker.crash()
        self._gather_feeds()
        self.interconnect.break_connections(node.node_id)
        node.watcher.down()
        if fence:
            self.sessions.end(node.node_id)

    def bring_back(self, node: Node) -> None:
        """The broker starts again, with the logs that it had.

        One that crashed may have lost some of them: it is eligible for nothing (KIP-966; Kafka:
        ReplicationControlManager.handleBrokerUncleanShutdown).
        """
        self.sessions.end(node.node_id)
        if not node.stopped_cleanly:
            self.control.forget_eligible(node.node_id)
        self._start(node)
        node.watcher.up()

    def register_again(self, node: Node) -> None:
        """A broker that was unregistered while it runs is on the books again."""
        self.sessions.end(node.node_id)
        info = node.info._replace(fenced=True, leaving=False, epoch=node.epoch)
        self.store.apply(BrokerChanged(info))
        self.running[node.node_id].heartbeat.beat()

    def _start(self, node: Node) -> None:
        self._next_epoch += 1
        node.epoch = self._next_epoch
        node.stopped_cleanly = True
        node.incarnations += 1
        if node.node_id not in self.store.brokers:
            node.info = node.info._replace(fenced=True, leaving=False)
        self.store.apply(BrokerChanged(node.info._replace(epoch=node.epoch)))
        incarnation = self._incarnation(node)
        self._bind(node, incarnation)
        self.running[node.node_id] = incarnation
        node.start(incarnation)
        self._gather_feeds()
        incarnation.heartbeat.beat()

    def _incarnation(self, node: Node) -> PeerIncarnation:
        """The node's broker, with a clock, a timer and an image of the metadata of its own."""
        clock = Clock(self.clock.epoch_ms + node.skew_ms, self.clock.now_ms)
        timer = Timer()
        to_controller, back = self._controller_links(node)
        image = MetadataStore(self.store.cluster_id, node.config)
        feed = MetadataFeed(back, image, self.clock, self.timer)
        copy_of(self.store, image)
        controller = self.controller
        substream = self._substream_of(node)
        forwarding = ForwardingController(
            self.store, controller.config, controller.rng, feed, (to_controller, back)
        )
        rng = substream("broker")
        environment = Environment(node.node_id, node.config, clock, timer, image, forwarding, rng)
        broker = make_broker(environment, self._producer_id_blocks, self._journal, substream)
        broker.services.replicas.kept_logs = node.kept_logs
        return PeerIncarnation(clock, timer, broker, feed)

    def _bind(self, node: Node, incarnation: PeerIncarnation) -> None:
        """Let the rooms of a broker reach the others: all that is bound late is bound here."""
        services, clock, timer = incarnation.broker.services, incarnation.clock, incarnation.timer
        replicas, groups, transactions = services.replicas, services.groups, services.transactions
        node_id, config = node.node_id, node.config
        services.quorum = self.quorum
        services.metadata_progress = self._progress
        services.tell = partial(self._tell, node_id)
        services.leader_log = partial(self._leader_log, node_id)
        services.coordinator_of = partial(self._coordinator_of, node_id)
        to_controller, _ = self._controller_links(node)
        incarnation.proposals = IsrProposals(
            clock,
            timer,
            replicas,
            to_controller.send,
            partial(self.control.alter_partition, node_id),
        )
        replicas.propose_isr = incarnation.proposals.propose
        incarnation.fetchers = ReplicaFetchers(
            node_id,
            node.epoch,
            clock,
            timer,
            config,
            lambda leader: self._new_client(
                incarnation, node_id, leader, f"broker-{node_id}-fetcher-0"
            ),
        )
        incarnation.fetchers.pin_version(tell_high_watermark=self.tells_high_watermark)
        by_topic: dict[str, LazyCoordinator[Any]] = {
            GROUP_METADATA_TOPIC: groups,
            TRANSACTION_STATE_TOPIC: transactions,
        }
        if services.extension is not None:
            by_topic.update(services.extension.coordinators)
        for topic, coordinator in by_topic.items():
            log = InternalLog(topic, replicas, clock)
            coordinator.replication = incarnation.coordinators[topic] = CoordinatorLeadership(
                topic, coordinator, log, replicas, config, clock, timer, services.defer
            )
        transactions.connect = partial(self._channel, incarnation, node_id)
        self._adopt_logs(node, incarnation)
        replicas.on_role = incarnation.role_changed
        incarnation.heartbeat = Heartbeat(
            clock,
            timer,
            to_controller,
            config.int("broker.heartbeat.interval.ms"),
            partial(self._heard, node_id, node.epoch),
        )

    def _adopt_logs(self, node: Node, incarnation: PeerIncarnation) -> None:
        """Go on with the logs of the incarnation before."""
        logs, node.logs = node.logs, {}
        for partition in incarnation.broker.services.replicas.all_partitions():
            log = logs.pop((partition.topic_id, partition.index), None)
            if log is not None:
                partition.adopt(log)
            incarnation.role_changed(partition)
        for key, log in logs.items():  # of topics that were deleted meanwhile
            node.kept_logs.keep_log(key, log)

    def _controller_links(self, node: Node) -> tuple[Link, Link]:
        """To the controller, and from it."""
        links = self.links
        return links.get(node.node_id, CONTROLLER), links.get(CONTROLLER, node.node_id)

    def _gather_feeds(self) -> None:
        self.interconnect.feeds = [self.running[node_id].feed for node_id in sorted(self.running)]

    def _tell(self, source: int, target: int, action: Callable[[Services], None]) -> None:
        """Let `target` do something, when what `source` sends it has arrived."""

        def arrive() -> None:
            incarnation = self.running.get(target)
            if incarnation is not None:
                action(incarnation.broker.services)

        if source == target:
            arrive()
        else:
            self.links.get(source, target).send(arrive)

    def _leader_log(self, source: int, topic: str, index: int) -> UnifiedLog | None:
        """The log of a partition at its leader, if a link to it carries."""
        leading = self._leading(source, topic, index)
        return None if leading is None else leading[1].open_log()

    def _coordinator_of(self, source: int, group_id: str) -> Services | None:
        """What coordinates a group, if a link to it carries and it has read what is to be known."""
        services = self.running[source].broker.services
        runtime = services.groups.service.runtime
        if runtime.shard_for(group_id) is not None:
            return services
        leading = self._leading(source, GROUP_METADATA_TOPIC, runtime.partition_for(group_id))
        if leading is None:
            return None
        services = self.running[leading[0]].broker.services
        return None if services.groups.service.runtime.shard_for(group_id) is None else services

    def _leading(self, source: int, topic: str, index: int) -> tuple[int, Partition] | None:
        """Who leads a partition, and its partition there, if a link to it carries.

        A leader of before that has not heard so, as far as `source` has or others tell, is none.
        """
        known = self.running[source].broker.services.metadata.topics.get(topic)
        if known is None or index >= len(known.partitions):
            return None
        epoch = known.partitions[index].leader_epoch
        leading: tuple[int, Partition] | None = None
        for node_id, incarnation in self.running.items():
            partition = incarnation.broker.services.replicas.partition(topic, index)
            if partition is None or not partition.is_leader or partition.leader_epoch < epoch:
                continue
            is_near = node_id == source
            ends = (source, node_id), (node_id, source)
            if is_near or all(self.links.get(*each).open for each in ends):
                epoch, leading = partition.leader_epoch, (node_id, partition)
        return leading

    def end_step(self) -> None:
        """A broker's verb has set its own clock: let the others have that time, and arrive all."""
        now_ms = self.clock.now_ms
        for incarnation in self.running.values():
            now_ms = max(now_ms, incarnation.clock.now_ms)
        self.set_time(now_ms)
        self.interconnect.drain()

    def set_time(self, now_ms: float) -> None:
        """What time it is for all."""
        self.clock.now_ms = now_ms
        for incarnation in self.running.values():
            incarnation.clock.now_ms = now_ms

    # -- the controller's side -----------------------------------------------------------------

    def _publish(self, change: Change) -> None:
        if self.quorum is not None:
            self.quorum.publish(change)
        for feed in self.interconnect.feeds:
            feed.publish(change)
        if isinstance(change, BrokerChanged):
            node = self.interconnect.node(change.broker.node_id)
            if node is not None:
                node.info = change.broker

    def _progress(self) -> dict[int, int]:
        """By node id of the brokers that are up, how many changes each has heard of."""
        return {
            node_id: self.store.version - self.running[node_id].feed.behind
            for node_id in sorted(self.running)
        }

    def next_deadline(self) -> float | None:
        """When the first of the timers is due: the cluster's and those of the brokers."""
        first = self.timer.next_deadline()
        for incarnation in self.running.values():
            deadline = incarnation.timer.next_deadline()
            if deadline is not None and (first is None or deadline < first):
                first = deadline
        return first

    def _heard(self, node_id: int, epoch: int) -> None:
        node = self.interconnect.node(node_id)
        if node is not None and node.incarnation is not None and node.epoch == epoch:
            self.sessions.heard(node_id)

    # -- a broker as the client of another -----------------------------------------------------

    def _channel(
        self, incarnation: PeerIncarnation, source: int, target: int, purpose: str
    ) -> BrokerClient:
        """The connection to another broker for what coordinators ask, made at its first use.

        One a purpose, as Apache Kafka has: what waits on one holds up nothing of another.
        """
        channel = incarnation.channels.get((target, purpose))
        if channel is None:
            channel = self._new_client(incarnation, source, target, f"broker-{source}-{purpose}")
            incarnation.channels[target, purpose] = channel
        return channel

    def _new_client(
        self, incarnation: PeerIncarnation, source: int, target: int, client_id: str
    ) -> BrokerClient:
        timeout_ms = incarnation.broker.services.config.int("replica.socket.timeout.ms")
        clock, timer = incarnation.clock, incarnation.timer
        return BrokerClient(self.interconnect, clock, timer, source, target, client_id, timeout_ms)

    def _substream_of(self, node: Node) -> Callable[[str], Random]:
        """Randomness of its own for each incarnation of each node."""
        node_id, incarnation = node.node_id, node.incarnations
        return lambda purpose: self._substream(f"{purpose}/{node_id}/{incarnation}")
