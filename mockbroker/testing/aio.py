"""The verbs of a broker and of its views for coroutines: `broker.aio`. Called by `mock_broker`.

They work in the loop that the broker runs in (`async with MockBroker(...)`) and in any other. Each
is made from the blocking one of that name, which says what it does; what is a property there is a
coroutine here: `await broker.aio.topic("orders").exists()`.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Self, Unpack, cast

from mockbroker.testing.awaited import AsyncView, Awaited
from mockbroker.testing.bridge import AsyncBridge
from mockbroker.testing.broker_views import BrokerViews, fault_ids, scope_begin
from mockbroker.testing.clock_view import ClockView
from mockbroker.testing.cluster_view import ClusterView
from mockbroker.testing.faults_view import FaultRule, FaultsView
from mockbroker.testing.group_view import GroupView
from mockbroker.testing.journal_view import Expectation, JournalView
from mockbroker.testing.metadata_log_view import MetadataLogView
from mockbroker.testing.topic_view import TopicView
from mockbroker.testing.transaction_view import TransactionView

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Mapping, Sequence

    from mockbroker.state.requests import Filters
    from mockbroker.testing.bridge import Bridge
    from mockbroker.testing.faults_view import Rule

__tracebackhide__ = True


class AsyncTopicView(AsyncView[TopicView[Any]]):
    """One topic; see `TopicView`."""

    records = Awaited(TopicView.records)
    wait_for = Awaited(TopicView.wait_for)
    put = Awaited(TopicView.put)
    put_all = Awaited(TopicView.put_all)
    load = Awaited(TopicView.load)
    delete = Awaited(TopicView.delete)
    delete_records = Awaited(TopicView.delete_records)
    end_offsets = Awaited(TopicView.end_offsets)
    exists: Awaited[[], bool] = Awaited(TopicView.exists)
    partitions: Awaited[[], int] = Awaited(TopicView.partitions)
    config: Awaited[[], dict[str, str]] = Awaited(TopicView.config)
    _create = Awaited(TopicView.create)

    @property
    def name(self) -> str:
        """The topic's name."""
        return self._view.name

    async def create(
        self,
        partitions: int | None = None,
        *,
        replication_factor: int | None = None,
        config: Mapping[str, object] | None = None,
    ) -> Self:
        """Make the topic. Raises TopicError when that cannot be."""
        await self._create(partitions, replication_factor=replication_factor, config=config)
        return self


class AsyncGroupView(AsyncView[GroupView[Any]]):
    """One consumer group; see `GroupView`."""

    describe = Awaited(GroupView.describe)
    state: Awaited[[], str] = Awaited(GroupView.state)
    members = Awaited(GroupView.members)
    committed = Awaited(GroupView.committed)
    lag = Awaited(GroupView.lag)
    sharing = Awaited(GroupView.sharing)
    expire_leases = Awaited(GroupView.expire_leases)
    wait_stable = Awaited(GroupView.wait_stable)
    wait_state = Awaited(GroupView.wait_state)
    wait_empty = Awaited(GroupView.wait_empty)
    wait_committed = Awaited(GroupView.wait_committed)
    wait_caught_up = Awaited(GroupView.wait_caught_up)
    commit = Awaited(GroupView.commit)
    delete = Awaited(GroupView.delete)

    @property
    def group_id(self) -> str:
        """The group's id."""
        return self._view.group_id


class AsyncTransactionView(AsyncView[TransactionView[Any]]):
    """One transactional id; see `TransactionView`."""

    describe = Awaited(TransactionView.describe)
    state: Awaited[[], str] = Awaited(TransactionView.state)
    wait_state = Awaited(TransactionView.wait_state)
    forget = Awaited(TransactionView.forget)

    @property
    def transactional_id(self) -> str:
        """The transactional id."""
        return self._view.transactional_id


class AsyncExpectation(AsyncView[Expectation]):
    """That requests match; see `Expectation`."""

    within = Awaited(Expectation.within)


class AsyncJournalView(AsyncView[JournalView]):
    """The requests that were served; see `JournalView`."""

    cursor = Awaited(JournalView.cursor)
    requests = Awaited(JournalView.requests)
    events = Awaited(JournalView.events)
    tail = Awaited(JournalView.tail)

    def expect(
        self, *, times: int = 1, since: int | None = None, **filters: Unpack[Filters]
    ) -> AsyncExpectation:
        """That at least `times` requests match; `await` its `within`."""
        return AsyncExpectation(self._view.expect(times=times, since=since, **filters))


class AsyncFaultRule(AsyncView[FaultRule]):
    """One rule that was armed; see `FaultRule`."""

    status = Awaited(FaultRule.status)
    hits: Awaited[[], int] = Awaited(FaultRule.hits)
    wait = Awaited(FaultRule.wait)
    release = Awaited(FaultRule.release)
    remove = Awaited(FaultRule.remove)

    @property
    def id(self) -> str:
        """The rule's id."""
        return self._view.id

    def __str__(self) -> str:
        return self.id


class AsyncFaultsView(AsyncView[FaultsView]):
    """The armed fault rules; see `FaultsView`."""

    remove = Awaited(FaultsView.remove)
    discard = Awaited(FaultsView.discard)
    verify = Awaited(FaultsView.verify)
    clear = Awaited(FaultsView.clear)
    list = Awaited(FaultsView.list)
    release = Awaited(FaultsView.release)
    _add = Awaited(FaultsView.add)

    async def add(self, *rules: Rule | Iterable[Rule]) -> Sequence[AsyncFaultRule]:
        """Arm rules, all or none; see `FaultsView.add`."""
        return [AsyncFaultRule(rule) for rule in await self._add(*rules)]

    @asynccontextmanager
    async def armed(self, *rules: Rule | Iterable[Rule]) -> AsyncIterator[Sequence[AsyncFaultRule]]:
        """Arm rules inside an `async with`, and disarm them behind it; see `FaultsView.armed`."""
        made = await self.add(*rules)
        ids = [rule.id for rule in made]
        try:
            yield made
        except BaseException:
            await self.discard(ids)
            raise
        await self.verify(ids)


class AsyncClockView(AsyncView[ClockView[Any]]):
    """The broker's time; see `ClockView`."""

    freeze = Awaited(ClockView.freeze)
    unfreeze = Awaited(ClockView.unfreeze)
    advance = Awaited(ClockView.advance)
    jump = Awaited(ClockView.jump)
    rate: Awaited[[], float] = Awaited(ClockView.rate)
    set_rate = Awaited(ClockView.set_rate)
    frozen: Awaited[[], bool] = Awaited(ClockView.frozen)
    now_ms: Awaited[[], float] = Awaited(ClockView.now_ms)
    wall_ms: Awaited[[], int] = Awaited(ClockView.wall_ms)


class AsyncClusterView(AsyncView[ClusterView[Any]]):
    """The brokers of a cluster; see `ClusterView`."""

    CONTROLLER = ClusterView.CONTROLLER

    brokers: Awaited[[], list[int]] = Awaited(ClusterView.brokers)
    leader = Awaited(ClusterView.leader)
    isr = Awaited(ClusterView.isr)
    replicas = Awaited(ClusterView.replicas)
    coordinator = Awaited(ClusterView.coordinator)
    records = Awaited(ClusterView.records)
    wait_in_sync = Awaited(ClusterView.wait_in_sync)
    kill = Awaited(ClusterView.kill)
    stop = Awaited(ClusterView.stop)
    revive = Awaited(ClusterView.revive)
    fence = Awaited(ClusterView.fence)
    unfence = Awaited(ClusterView.unfence)
    move_leader = Awaited(ClusterView.move_leader)
    move_coordinator = Awaited(ClusterView.move_coordinator)
    reassign = Awaited(ClusterView.reassign)
    elect_preferred = Awaited(ClusterView.elect_preferred)
    elect_unclean = Awaited(ClusterView.elect_unclean)
    shrink_isr = Awaited(ClusterView.shrink_isr)
    hold_follower = Awaited(ClusterView.hold_follower)
    release_follower = Awaited(ClusterView.release_follower)
    hold_high_watermark = Awaited(ClusterView.hold_high_watermark)
    release_high_watermark = Awaited(ClusterView.release_high_watermark)
    tell_high_watermark = Awaited(ClusterView.tell_high_watermark)
    cut_link = Awaited(ClusterView.cut_link)
    hold_link = Awaited(ClusterView.hold_link)
    slow_link = Awaited(ClusterView.slow_link)
    restore_link = Awaited(ClusterView.restore_link)
    isolate = Awaited(ClusterView.isolate)
    reconnect = Awaited(ClusterView.reconnect)
    skew_clock = Awaited(ClusterView.skew_clock)


class AsyncMetadataLogView(AsyncView[MetadataLogView]):
    """The metadata log; see `MetadataLogView`."""

    end_offset: Awaited[[], int] = Awaited(MetadataLogView.end_offset)
    high_watermark: Awaited[[], int | None] = Awaited(MetadataLogView.high_watermark)
    append_no_op = Awaited(MetadataLogView.append_no_op)
    hold_commits = Awaited(MetadataLogView.hold_commits)
    release_commits = Awaited(MetadataLogView.release_commits)
    begin_epoch = Awaited(MetadataLogView.begin_epoch)
    wait_for_observer = Awaited(MetadataLogView.wait_for_observer)


class AsyncBroker(AsyncView[BrokerViews]):
    """What `MockBroker` has while it runs, as coroutines where it takes a step of the broker."""

    def __init__(self, bridge: Bridge) -> None:
        self._bridge = AsyncBridge(bridge)
        super().__init__(BrokerViews(cast("Bridge", self._bridge)))

    metrics = Awaited(BrokerViews.metrics)
    client_metrics = Awaited(BrokerViews.client_metrics)
    topics = Awaited(BrokerViews.topics)
    groups = Awaited(BrokerViews.groups)
    transactions = Awaited(BrokerViews.transactions)
    delegation_token = Awaited(BrokerViews.delegation_token)
    delegation_tokens = Awaited(BrokerViews.delegation_tokens)
    expire_delegation_token = Awaited(BrokerViews.expire_delegation_token)
    reset = Awaited(BrokerViews.reset)
    left_over = Awaited(BrokerViews.left_over)
    snapshot = Awaited(BrokerViews.snapshot)
    restore = Awaited(BrokerViews.restore)
    report = Awaited(BrokerViews.report)
    verdict = Awaited(BrokerViews.verdict)
    verify = Awaited(BrokerViews.verify)

    @property
    def bootstrap_servers(self) -> str:
        """HOST:PORT for a client's `bootstrap_servers`."""
        return self._view.bootstrap_servers

    def topic(self, name: str) -> AsyncTopicView:
        """One topic, which need not exist yet."""
        return AsyncTopicView(self._view.topic(name))

    def group(self, group_id: str) -> AsyncGroupView:
        """One consumer group, which need not exist yet."""
        return AsyncGroupView(self._view.group(group_id))

    def transaction(self, transactional_id: str) -> AsyncTransactionView:
        """One transactional id, which need not exist yet."""
        return AsyncTransactionView(self._view.transaction(transactional_id))

    @property
    def journal(self) -> AsyncJournalView:
        """The requests that were served, also awaited."""
        return AsyncJournalView(self._view.journal)

    @property
    def faults(self) -> AsyncFaultsView:
        """The fault rules: add, remove, list, clear, release."""
        return AsyncFaultsView(self._view.faults)

    @property
    def clock(self) -> AsyncClockView:
        """The broker's time: freeze it, let it run faster, move it on."""
        return AsyncClockView(self._view.clock)

    @property
    def cluster(self) -> AsyncClusterView:
        """The brokers: kill and revive them, move leaders, hold followers, cut links."""
        return AsyncClusterView(self._view.cluster)

    @property
    def metadata_log(self) -> AsyncMetadataLogView:
        """The metadata log; needs a `controller_port`."""
        return AsyncMetadataLogView(self._view.metadata_log)

    @asynccontextmanager
    async def scope(self) -> AsyncIterator[Self]:
        """Take away at the end of an `async with` what was made inside."""
        end = await self._bridge.call(scope_begin(self._bridge))
        spared = await self._bridge.call(fault_ids)
        found = None
        try:
            yield self
            found = await self.verdict(spared=spared)
        finally:
            await self._bridge.call(end)
            if found is None:  # its error is the one to tell
                await self.verdict(spared=spared)
        found.check()
