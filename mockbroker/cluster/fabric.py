"""What makes several brokers one cluster: links, metadata feeds, heartbeats, life and death.

`cluster` makes it when there is more than one broker; one broker alone needs none of it. Brokers
never call each other: bytes go over links to the other's `receive`, changes of metadata over the
link from the controller, and all of it arrives in `drain`, at the end of a step.

Invariants: a node that is down has no broker, timers or connections, only its logs; what was
decided reaches every image before any broker's bytes of that step arrive anywhere; all loops run
in the order of node ids.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from mockbroker.clock import Clock, Timer
from mockbroker.cluster.links.broker_client import BrokerClient
from mockbroker.cluster.links.forwarding import ForwardingController
from mockbroker.cluster.links.heartbeats import BrokerSessions, Heartbeat
from mockbroker.cluster.links.isr_proposals import IsrProposals
from mockbroker.cluster.links.link import CONTROLLER, Links
from mockbroker.cluster.links.metadata_feed import MetadataFeed, copy_of
from mockbroker.coordinator.leadership import CoordinatorLeadership
from mockbroker.coordinator.log_port import InternalLog
from mockbroker.metadata.changes import BrokerChanged, ConfigsChanged
from mockbroker.metadata.names import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC
from mockbroker.metadata.store import MetadataStore
from mockbroker.node.assembly import make_broker
from mockbroker.replica.fetchers import ReplicaFetchers

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from mockbroker.cluster.links.link import Link
    from mockbroker.config.broker import BrokerConfig
    from mockbroker.coordinator.group.rebalance import Asker
    from mockbroker.coordinator.lazy import LazyCoordinator
    from mockbroker.coordinator.producer_ids import ProducerIdBlocks
    from mockbroker.journal import Journal
    from mockbroker.log.unified_log import UnifiedLog
    from mockbroker.metadata.brokers import BrokerInfo
    from mockbroker.metadata.changes import Change
    from mockbroker.metadata.controller import Controller
    from mockbroker.metadata.replication_control import ReplicationControl
    from mockbroker.node.broker import Broker
    from mockbroker.node.outbox import Outgoing
    from mockbroker.replica.partition import Partition
    from mockbroker_protocol.primitives import Buffer

REPLICATION_LISTENER = "REPLICATION"


class Life:
    """What a node has while it is up; all of it goes with a crash."""

    __slots__ = (
        "broker",
        "channels",
        "clock",
        "coordinators",
        "feed",
        "fetchers",
        "heartbeat",
        "proposals",
        "timer",
    )

    def __init__(self, clock: Clock, timer: Timer, feed: MetadataFeed, broker: Broker) -> None:
        self.clock = clock
        self.timer = timer
        self.feed = feed
        self.broker = broker
        self.channels: dict[int, BrokerClient] = {}
        """Connections to other brokers for what coordinators ask, by node id."""
        self.coordinators: dict[str, CoordinatorLeadership] = {}
        self.fetchers: ReplicaFetchers

    def role_changed(self, partition: Partition) -> None:
        """A partition came, changed or went here: follow it, coordinate what is in it, or stop."""
        self.fetchers.role_changed(partition)
        coordinator = self.coordinators.get(partition.topic)
        if coordinator is not None:
            coordinator.role_changed(partition)

        self.heartbeat: Heartbeat
        self.proposals: IsrProposals


class Member:
    """One broker of the cluster, up or down. `skew_ms` is what its wall clock is ahead."""

    __slots__ = (
        "config",
        "epoch",
        "index",
        "info",
        "life",
        "lives",
        "logs",
        "node_id",
        "outbox",
        "skew_ms",
    )

    def __init__(self, index: int, config: BrokerConfig, info: BrokerInfo) -> None:
        self.index = index
        self.info = info
        """As it was last registered: what a start after an unregistration begins with."""
        self.config = config
        self.node_id = config.node_id
        self.life: Life | None = None
        self.lives = 0
        self.epoch = -1
        self.skew_ms = 0
        self.logs: dict[tuple[bytes, int], UnifiedLog] = {}
        """The logs of a node that is down."""
        self.outbox: list[Outgoing] = []


class Fabric:
    """The brokers of `configs` around one controller."""

    def __init__(
        self,
        configs: list[BrokerConfig],
        infos: list[BrokerInfo],
        store: MetadataStore,
        controller: Controller,
        clock: Clock,
        timer: Timer,
        producer_id_blocks: ProducerIdBlocks,
        journal: Journal,
        substream: Callable[[str], Random],
    ) -> None:
        self.store = store
        self.controller = controller
        self.clock = clock
        self.timer = timer
        self._producer_id_blocks = producer_id_blocks
        self._journal = journal
        self._substream = substream
        self.links = Links(clock, timer)
        self.control: ReplicationControl = controller.replication
        self.sessions = BrokerSessions(
            clock, timer, self.control, configs[0].int("broker.session.timeout.ms")
        )
        self.tells_high_watermark = True
        self._clients: dict[int, BrokerClient] = {}
        self._connections_made = 0
        self._next_epoch = 0
        self.on_leaving: list[Callable[[int], None]] = []
        """Called with a member's index when it stops cleanly, before it is gone."""
        self.on_down: list[Callable[[int], None]] = []
        """Called with a member's index when its broker is gone: a shell drops its connections."""
        self.on_up: list[Callable[[int], None]] = []
        """Called with a member's index when it is back."""
        self.members = [
            Member(index, *each) for index, each in enumerate(zip(configs, infos, strict=True))
        ]
        self._by_id = {member.node_id: member for member in self.members}
        for info in infos:
            store.apply(BrokerChanged(info))
        store.subscribe(self._publish)
        for member in self.members:
            self._bring_up(member)
        self._balance_later(configs[0])

    # -- driving -----------------------------------------------------------------------------

    def tick(self, now_ms: float) -> None:
        """Time passed: run what is due everywhere."""
        self.set_clocks(now_ms)
        self.timer.advance(now_ms)
        for member in self.members:
            if member.life is not None:
                member.life.broker.tick(now_ms)
        self.drain(now_ms)

    def next_deadline(self) -> float | None:
        """The earliest deadline of all."""
        first = self.timer.next_deadline()
        for member in self.members:
            if member.life is not None:
                deadline = member.life.timer.next_deadline()
                if deadline is not None and (first is None or deadline < first):
                    first = deadline
        return first

    def drain(self, now_ms: float) -> None:
        """Let everything arrive that this step sent, and what that sent, until all is quiet."""
        self.set_clocks(now_ms)
        members, links = self.members, self.links
        while True:
            while self._has_metadata():
                self._deliver_metadata()
            for member in members:
                life = member.life
                if life is not None:
                    if life.broker.unsettled:
                        life.broker.settle()
                    if life.fetchers.ready:
                        life.fetchers.run()
            for member in members:
                life = member.life
                if life is not None:
                    self._collect(member, life.broker)
            if not links.run() and not self._has_metadata():
                return

    def take_outbox(self, index: int) -> list[Outgoing]:
        """What a member wants written to its clients."""
        member = self.members[index]
        outbox = member.outbox
        if outbox:
            member.outbox = []
        return outbox

    def set_clocks(self, now_ms: float) -> None:
        """It is so late everywhere."""
        self.clock.now_ms = now_ms
        for member in self.members:
            if member.life is not None:
                member.life.clock.now_ms = now_ms

    def move_wall(self, by_ms: int) -> None:
        """The wall clocks of all brokers that are up move."""
        for member in self.members:
            if member.life is not None:
                member.life.clock.epoch_ms += by_ms

    def restore(self, link: Link) -> None:
        """Let a link carry again; the connections that lost bytes on it are reset at both ends."""
        was_cut = link.cut
        link.restore()
        if was_cut:
            ends = {link.source, link.target}
            for connection_id, client in list(self._clients.items()):
                if {client.source, client.target} == ends:
                    self._hang_up(connection_id, client.target)
                    self._reset(connection_id)

    def say_goodbye(self, member: Member) -> None:
        """A clean stop: the shell writes what is left before the connections go."""
        for tell in self.on_leaving:
            tell(member.index)

    def _collect(self, member: Member, broker: Broker) -> None:
        """Sort what a broker wants written: to another broker's client, or to the shell's."""
        for outgoing in broker.take_outbox():
            connection_id = outgoing.connection_id
            client = self._clients.get(connection_id)
            if client is None:
                if connection_id >= 0:
                    member.outbox.append(outgoing)
                continue
            back = self.links.get(member.node_id, client.source)
            chunks = outgoing.chunks
            if chunks:
                data = chunks[0] if len(chunks) == 1 else b"".join(chunks)
                back.send(partial(self._answer, connection_id, data))
            if outgoing.close:
                broker.disconnect(connection_id, self.clock.now_ms)
                back.send(partial(self._reset, connection_id))
            elif outgoing.more:
                broker.resume(connection_id, self.clock.now_ms)

    # -- metadata ----------------------------------------------------------------------------

    def _publish(self, change: Change) -> None:
        for member in self.members:
            if member.life is not None:
                member.life.feed.publish(change)
        if isinstance(change, ConfigsChanged):
            self.control.review_eligible()
        elif isinstance(change, BrokerChanged):
            self._by_id[change.broker.node_id].info = change.broker

    def _progress(self) -> dict[int, int]:
        """By node id of the brokers that are up, how many changes each has heard of."""
        return {
            member.node_id: self.store.version - member.life.feed.behind
            for member in self.members
            if member.life is not None
        }

    def _has_metadata(self) -> bool:
        for member in self.members:
            life = member.life
            if life is not None and life.feed.ready:
                return True
        return False

    def _deliver_metadata(self) -> None:
        for member in self.members:
            if member.life is not None and member.life.feed.ready:
                member.life.feed.deliver()

    def _announce(self, source: int, target: int, group_id: str, asker: Asker) -> None:
        """A client of `source` is sent to `target` as its group's coordinator: let that know."""

        def arrive() -> None:
            life = self._by_id[target].life
            if life is not None:
                life.broker.services.groups.service.announce(group_id, asker)

        if source == target:
            arrive()
        else:
            self.links.get(source, target).send(arrive)

    # -- bytes between brokers (links.broker_client.Wiring) -----------------------------------

    def open(self, client: BrokerClient) -> int:
        """A connection id for a client; negative, so that no shell has it."""
        self._connections_made += 1
        connection_id = -self._connections_made
        self._clients[connection_id] = client
        return connection_id

    def send(self, client: BrokerClient, data: bytes) -> None:
        """Carry a client's bytes."""
        assert client.connection_id is not None
        link = self.links.get(client.source, client.target)
        link.send(partial(self._arrive, client.connection_id, client.source, client.target, data))

    def close(self, client: BrokerClient) -> None:
        """A client hangs up."""
        connection_id = client.connection_id
        if connection_id is not None:
            self._clients.pop(connection_id, None)
            link = self.links.get(client.source, client.target)
            link.send(partial(self._hang_up, connection_id, client.target))

    def _arrive(self, connection_id: int, source: int, target: int, data: bytes) -> None:
        life = self._by_id[target].life
        if life is None:
            self.links.get(target, source).send(partial(self._reset, connection_id))
            return
        broker = life.broker
        now_ms = self.clock.now_ms
        if broker.connection(connection_id) is None:
            if connection_id not in self._clients:
                return
            broker.connect(
                connection_id,
                f"/broker-{source}",
                now_ms,
                local_address=("", 0),
                listener=REPLICATION_LISTENER,
            )
        broker.receive(connection_id, data, now_ms)

    def _answer(self, connection_id: int, data: Buffer) -> None:
        client = self._clients.get(connection_id)
        if client is not None:
            client.received(data)

    def _reset(self, connection_id: int) -> None:
        client = self._clients.pop(connection_id, None)
        if client is not None:
            client.lost()

    def _hang_up(self, connection_id: int, target: int) -> None:
        life = self._by_id[target].life
        if life is not None:
            life.broker.disconnect(connection_id, self.clock.now_ms)

    # -- life and death ------------------------------------------------------------------------

    def member(self, node_id: int) -> Member | None:
        """The broker of this id."""
        return self._by_id.get(node_id)

    def take_down(self, node_id: int, *, fence: bool) -> None:
        """The broker is gone from one moment to the next; its logs stay.

        With `fence` the controller knows at once, else when the broker's session times out.
        """
        member = self._by_id[node_id]
        life = member.life
        assert life is not None
        life.feed.close()
        life.heartbeat.stop()
        member.life = None
        member.logs = {
            (partition.topic_id, partition.index): partition.log
            for partition in life.broker.services.replicas.all_partitions()
            if partition.log is not None
        }
        member.outbox = []
        for connection_id, client in list(self._clients.items()):
            if client.source == node_id:
                del self._clients[connection_id]
                link = self.links.get(node_id, client.target)
                link.send(partial(self._hang_up, connection_id, client.target))
            elif client.target == node_id:
                link = self.links.get(node_id, client.source)
                link.send(partial(self._reset, connection_id))
        for tell in self.on_down:
            tell(member.index)
        if fence:
            self.sessions.end(node_id)

    def bring_back(self, node_id: int) -> None:
        """The broker starts again, with the logs that it had."""
        member = self._by_id[node_id]
        self.sessions.end(node_id)
        self._bring_up(member)
        for tell in self.on_up:
            tell(member.index)

    def _bring_up(self, member: Member) -> None:
        self._next_epoch += 1
        member.epoch = self._next_epoch
        member.lives += 1
        node_id = member.node_id
        if node_id not in self.store.brokers:
            member.info = member.info.altered(fenced=True, leaving=False)
        self.store.apply(BrokerChanged(member.info.altered(epoch=member.epoch)))
        clock = Clock(self.clock.epoch_ms + member.skew_ms, self.clock.now_ms)
        timer = Timer()
        links = self.links.get(node_id, CONTROLLER), self.links.get(CONTROLLER, node_id)
        config = member.config
        image = MetadataStore(self.store.cluster_id, config)
        feed = MetadataFeed(links[1], image, self.clock, self.timer)
        copy_of(self.store, image)
        forwarding = ForwardingController(
            self.store, self.controller.config, self.controller.rng, feed, links
        )
        broker = make_broker(
            config,
            clock,
            timer,
            image,
            forwarding,
            self._producer_id_blocks,
            self._journal,
            self._substream_of(member),
        )
        broker.services.announce = partial(self._announce, node_id)
        broker.services.metadata_progress = self._progress
        life = Life(clock, timer, feed, broker)
        self._join_replication(member, life)
        life.heartbeat = Heartbeat(
            clock,
            timer,
            links[0],
            config.int("broker.heartbeat.interval.ms"),
            partial(self._heard, node_id, member.epoch),
        )
        member.life = life
        life.heartbeat.beat()

    def _join_replication(self, member: Member, life: Life) -> None:
        """Logs from before, fetchers for what others lead, proposals for what is led here."""
        node_id = member.node_id
        replicas = life.broker.services.replicas
        link = self.links.get(node_id, CONTROLLER)
        life.proposals = IsrProposals(
            life.clock,
            life.timer,
            replicas,
            link.send,
            partial(self.control.alter_partition, node_id),
        )
        life.fetchers = ReplicaFetchers(
            node_id,
            member.epoch,
            life.clock,
            life.timer,
            member.config,
            partial(self._fetch_channel, life, node_id),
        )
        life.fetchers.pin_version(tell_high_watermark=self.tells_high_watermark)
        self._spread_coordinators(member, life)
        logs, member.logs = member.logs, {}
        for partition in replicas.all_partitions():
            log = logs.get((partition.topic_id, partition.index))
            if log is not None:
                partition.adopt(log)
            life.role_changed(partition)
        replicas.on_role = life.role_changed

    def _spread_coordinators(self, member: Member, life: Life) -> None:
        """Let coordinators own what is led here, and reach the others."""
        services = life.broker.services
        groups, transactions = services.groups, services.transactions
        by_topic: dict[str, LazyCoordinator[Any]] = {
            GROUP_METADATA_TOPIC: groups,
            TRANSACTION_STATE_TOPIC: transactions,
        }
        for topic, coordinator in by_topic.items():
            life.coordinators[topic] = CoordinatorLeadership(
                topic,
                coordinator,
                InternalLog(topic, services.replicas, life.clock),
                services.replicas,
                member.config,
                services.defer,
            )
        groups.replication = life.coordinators[GROUP_METADATA_TOPIC]
        transactions.replication = life.coordinators[TRANSACTION_STATE_TOPIC]
        transactions.connect = partial(self._channel, life, member.node_id)

    def _channel(self, life: Life, source: int, target: int) -> BrokerClient:
        channel = life.channels.get(target)
        if channel is None:
            channel = life.channels[target] = self._new_client(
                life, source, target, f"broker-{source}-coordinator"
            )
        return channel

    def _heard(self, node_id: int, epoch: int) -> None:
        member = self._by_id[node_id]
        if member.life is not None and member.epoch == epoch:
            self.sessions.heard(node_id)

    def _fetch_channel(self, life: Life, source: int, target: int) -> BrokerClient:
        return self._new_client(life, source, target, f"broker-{source}-fetcher-0")

    def _new_client(self, life: Life, source: int, target: int, client_id: str) -> BrokerClient:
        timeout_ms = life.broker.services.config.int("replica.socket.timeout.ms")
        return BrokerClient(self, life.clock, life.timer, source, target, client_id, timeout_ms)

    def _substream_of(self, member: Member) -> Callable[[str], Random]:
        node_id, life = member.node_id, member.lives
        return lambda purpose: self._substream(f"{purpose}/{node_id}/{life}")

    def _balance_later(self, config: BrokerConfig) -> None:
        """The controller's periodic return to preferred leaders."""
        if not config.bool("auto.leader.rebalance.enable"):
            return
        interval_ms = config.int("leader.imbalance.check.interval.seconds") * 1000

        def balance() -> None:
            self.control.balance()
            self.timer.schedule(self.clock.now_ms + interval_ms, balance)

        self.timer.schedule(self.clock.now_ms + interval_ms, balance)
