"""Rounds that are skipped leave a cluster as those that are played do, whatever its state."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from mockbroker.cluster.idle_rounds import (
    BALANCE_CHECKS,
    FETCHES,
    HEARTBEATS,
    IN_SYNC_CHECKS,
)
from mockbroker.cluster.links.link import CONTROLLER
from mockbroker.cluster.node_controls import ControlError
from mockbroker.faults.fault import Fault
from mockbroker.metadata.topic_requests import NewTopic
from mockbroker_protocol.messages.consumer_group import ConsumerGroupHeartbeatRequest
from mockbroker_protocol.messages.fetch import (
    FetchRequest,
    FetchRequestPartition,
    FetchRequestTopic,
)
from mockbroker_protocol.messages.produce import (
    ProduceRequest,
    ProduceRequestPartition,
    ProduceRequestTopic,
)
from mockbroker_protocol.messages.transactions import InitProducerIdRequest
from mockbroker_protocol.records.batch import build_batch
from mockbroker_protocol.records.record_codec import Record
from tests.support.cluster_core import ClusterCore
from tests.support.cluster_picture import picture
from tests.support.core import EPOCH_MS

if TYPE_CHECKING:
    from collections.abc import Callable


HOUR_MS = 3_600_000.0
DAY_MS = 24 * HOUR_MS


class MovedCore(ClusterCore):
    """A cluster whose time is moved far: idle rounds are skipped, or played to compare."""

    def __init__(
        self,
        *,
        skips: bool,
        config: dict[str, str] | None = None,
        seed: int = 0,
        topics: dict[str, int | None] | None = None,
    ) -> None:
        super().__init__(topics={"t": 3} if topics is None else topics, config=config, seed=seed)
        self.skips = skips
        self.ticks = 0
        self.changes: list[tuple[float, str]] = []
        """When the controller decided what."""
        self.cluster.metadata.subscribe(
            lambda change: self.changes.append((self.cluster.clock.now_ms, type(change).__name__))
        )

    def advance(self, milliseconds: float) -> None:
        end_ms = self.now_ms + milliseconds
        while True:
            if self.skips:
                self.cluster.skip_idle(end_ms)
            deadline = self.cluster.next_deadline()
            if deadline is None or deadline > end_ms:
                break
            self.ticks += 1
            self.now_ms = max(self.now_ms, deadline)
            self.cluster.tick(self.now_ms)
            self.deliver()
        self.now_ms = end_ms
        self.cluster.tick(end_ms)
        self.deliver()

    @property
    def skipped(self) -> dict[str, int]:
        return self.peers.idle_rounds.skipped

    def picture(self) -> dict[str, object]:
        """All that a later step could depend on, with what clients were answered."""
        seen = picture(self.cluster)
        seen["changes"] = self.changes
        seen["answers"] = [client._answers for client in self._clients.values()]
        seen["closed"] = [client.closed for client in self._clients.values()]
        return seen


class Script:
    """What one seed does to a cluster: the same whether rounds are played or skipped."""

    def __init__(self, seed: int, *, skips: bool) -> None:
        self.rng = Random(seed)
        config = {
            "group.consumer.session.timeout.ms": "45000",
            "replica.fetch.wait.max.ms": "2000",
            "log.retention.check.interval.ms": "60000",
            "leader.imbalance.check.interval.seconds": self.rng.choice(["300", "7"]),
            "replica.lag.time.max.ms": self.rng.choice(["30000", "9001"]),
        }
        self.core = MovedCore(skips=skips, config=config, seed=seed)
        short = (("retention.ms", "90000"), ("segment.ms", "20000"))
        self.core.cluster.controller.create_topics([NewTopic("short", 2, configs=short)])
        self.core.deliver()
        self.core.advance(3000)
        self.members = 0

    def run(self, steps: int, longest_ms: float) -> MovedCore:
        actions: list[Callable[[], None]] = [
            self.produce,
            self.produce,
            self.poll,
            self.join,
            self.begin_transaction,
            self.link,
            self.link,
            self.node,
            self.node,
            self.follower,
            self.rule,
        ]
        for _ in range(steps):
            for _ in range(self.rng.randrange(3)):
                try:
                    self.rng.choice(actions)()
                except ControlError:
                    pass
                self.core.deliver()
            self.core.advance(self.rng.choice([7.5, 700, 12_000, longest_ms * self.rng.random()]))
        return self.core

    def _some(self) -> tuple[str, int]:
        return self.rng.choice([("t", 0), ("t", 1), ("t", 2), ("short", 0), ("short", 1)])

    def _leader(self, topic: str, index: int) -> int | None:
        leader = self.core.state(topic, index).leader
        return leader if self.core.cluster.broker(leader) is not None else None

    def _node(self) -> int:
        return self.rng.randrange(1, 4)

    def produce(self) -> None:
        topic, index = self._some()
        leader = self._leader(topic, index)
        values = [b"v" * self.rng.randrange(50)]
        acks = self.rng.choice([1, -1])
        if leader is not None:
            self.core.client(node=leader).produce(topic, *values, index=index, acks=acks)

    def poll(self) -> None:
        """A consumer's fetch that is parked for long."""
        topic, index = self._some()
        leader = self._leader(topic, index)
        wait_ms = self.rng.choice([500, 60_000])
        if leader is None:
            return
        topic_id = self.core.cluster.metadata.topics[topic].id
        log = self.core.partition(leader, topic, index).log
        asked = FetchRequestPartition(
            partition=index,
            fetch_offset=0 if log is None else log.log_end_offset,
            partition_max_bytes=1 << 20,
        )
        request = FetchRequest(
            max_wait_ms=wait_ms,
            min_bytes=1,
            max_bytes=1 << 20,
            topics=[FetchRequestTopic(topic_id=topic_id, partitions=[asked])],
        )
        self.core.client(node=leader).send(request, 17)

    def join(self) -> None:
        """A member that never says anything more."""
        self.members += 1
        node = self.core.controls.coordinator("g")
        self.core.deliver()
        if self.core.cluster.broker(node) is not None:
            asked = ConsumerGroupHeartbeatRequest(
                group_id="g",
                member_id=f"m{self.members}",
                member_epoch=0,
                rebalance_timeout_ms=60_000,
                subscribed_topic_names=["t"],
                topic_partitions=[],
            )
            self.core.client(node=node).send(asked, 1)

    def begin_transaction(self) -> None:
        """A transaction that nobody ends; its first answer may be to ask again."""
        node = self._node()
        if self.core.cluster.broker(node) is not None:
            asked = InitProducerIdRequest(transactional_id="tx", transaction_timeout_ms=40_000)
            self.core.client(node=node).send(asked, 4)
            leader = self._leader("t", 0)
            batch = build_batch(
                [Record(0, EPOCH_MS, None, b"v")],
                producer_id=0,
                producer_epoch=0,
                base_sequence=0,
                transactional=True,
            )
            if leader is not None:
                partition = ProduceRequestPartition(index=0, records=batch)
                topic = ProduceRequestTopic(name="t", partition_data=[partition])
                request = ProduceRequest(
                    transactional_id="tx", acks=-1, timeout_ms=1000, topic_data=[topic]
                )
                self.core.client(node=leader).send(request, 12)

    def link(self) -> None:
        one, other = self.rng.sample([1, 2, 3, CONTROLLER], 2)
        controls = self.core.controls
        act = self.rng.randrange(7)
        if act == 0:
            controls.cut_link(one, other)
        elif act == 1:
            controls.hold_link(one, other)
        elif act == 2:
            controls.slow_link(one, other, self.rng.choice([3.0, 600.0]))
        else:
            for source in (1, 2, 3, CONTROLLER):
                for target in (1, 2, 3, CONTROLLER):
                    if source != target:
                        controls.restore_link(source, target)

    def node(self) -> None:
        node, controls = self._node(), self.core.controls
        act = self.rng.randrange(8)
        if act == 0:
            controls.kill(node, fence=self.rng.random() < 0.5)
        elif act == 1:
            controls.fence(node)
        elif act == 2:
            controls.unfence(node)
        elif act == 3:
            controls.isolate(node)
        elif act == 4:
            controls.reconnect(node)
        else:
            for each in (1, 2, 3):
                if self.core.cluster.broker(each) is None:
                    controls.revive(each)

    def follower(self) -> None:
        topic, index = self._some()
        node = self._node()
        act = self.rng.randrange(3)
        if act == 0:
            self.core.controls.hold_follower(topic, index, node)
        elif act == 1:
            self.core.controls.release_follower(topic, index, node)
        else:
            self.core.controls.move_leader(topic, index, node)

    def rule(self) -> None:
        """What clients meet, or brokers too; one rule at a time."""
        faults = self.core.cluster.faults
        faults.clear()
        act = self.rng.randrange(4)
        if act == 0:
            faults.add(Fault.from_dict({"api": "Produce", "delay_ms": 700, "count": 2}))
        elif act == 1:
            faults.add(Fault.from_dict({"api": "Fetch", "delay_ms": 2500}))
        elif act == 2:
            rule = {"api": "Fetch", "listener": "*", "delay_ms": 40, "for_ms": 9000}
            faults.add(Fault.from_dict(rule))


@pytest.mark.parametrize("seed", range(12))
def test_skipped_is_as_played(seed: int) -> None:
    skipped = Script(seed, skips=True).run(6, 150_000)
    played = Script(seed, skips=False).run(6, 150_000)
    assert skipped.picture() == played.picture()
    skipped.advance(1000)
    played.advance(1000)
    assert skipped.picture() == played.picture()


SELDOM = {"leader.imbalance.check.interval.seconds": "77", "replica.fetch.wait.max.ms": "2000"}
"""Fewer rounds to play: they are the same rounds."""


def kill(core: MovedCore) -> None:
    core.controls.kill(2, fence=False)


def cut_from_the_controller(core: MovedCore) -> None:
    core.controls.slow_link(2, CONTROLLER, 5.5)
    core.advance(60_000)
    core.controls.cut_link(2, CONTROLLER)


def hold_before_the_controller(core: MovedCore) -> None:
    core.controls.hold_link(2, CONTROLLER)
    core.advance(60_000)
    core.controls.restore_link(2, CONTROLLER)


def hold_a_follower(core: MovedCore) -> None:
    follower = core.state("t").replicas[1]
    core.controls.hold_follower("t", 0, follower)
    core.client(node=core.state("t").leader).produce("t", b"v", acks=1)
    core.advance(100_000)
    core.controls.release_follower("t", 0, follower)


def slow_fetches(core: MovedCore) -> None:
    core.controls.slow_link(1, 2, 70.5)
    core.controls.slow_link(2, 1, 3.0)
    core.advance(60_000)
    core.client(node=core.state("t").leader).produce("t", b"v")


def fence_and_let_in(core: MovedCore) -> None:
    core.controls.fence(3)
    core.advance(60_000)
    core.controls.unfence(3)


def move_a_leader(core: MovedCore) -> None:
    core.controls.move_leader("t", 0, core.state("t").replicas[1])


def fetch_under_a_rule(core: MovedCore) -> None:
    rule = Fault.from_dict({"api": "Fetch", "delay_ms": 120})
    core.cluster.faults.add(rule)
    core.advance(6000)
    core.cluster.faults.clear()


def rule_between_brokers(core: MovedCore) -> None:
    rule = {"api": "Fetch", "listener": "REPL*", "delay_ms": 120, "count": 5}
    core.cluster.faults.add(Fault.from_dict(rule))
    core.advance(6000)
    core.client(node=core.state("t").leader).produce("t", b"v")


@pytest.mark.parametrize(
    "act",
    [
        kill,
        cut_from_the_controller,
        hold_before_the_controller,
        hold_a_follower,
        slow_fetches,
        fence_and_let_in,
        move_a_leader,
        fetch_under_a_rule,
        rule_between_brokers,
    ],
)
def test_what_happens_after_and_before_a_long_quiet_comes_at_its_time(
    act: Callable[[MovedCore], None],
) -> None:
    ways = []
    for skips in (True, False):
        core = MovedCore(skips=skips, config=SELDOM)
        core.advance(50_000)
        act(core)
        core.advance(333.25)
        core.advance(120_000)
        ways.append(core)
    assert ways[0].picture() == ways[1].picture()
    assert ways[0].ticks < ways[1].ticks / 2


def test_a_broker_that_led_nothing_is_fenced_at_its_time() -> None:
    core = MovedCore(skips=True, topics={})
    core.advance(50_000)
    core.controls.kill(2, fence=False)
    core.advance(DAY_MS)
    assert core.changes[-1] == (59_000.0, "BrokerChanged")


def test_the_rounds_left_out_leave_the_times_of_the_last_of_them() -> None:
    core = MovedCore(skips=True)
    core.advance(310_000)
    core.cluster.skip_idle(core.now_ms + HOUR_MS)
    last_ms = core.now_ms + HOUR_MS - 3 * 500
    for partition in (core.partition(core.state("t", at).leader, "t", at) for at in range(3)):
        assert partition.followers is not None
        for follower in partition.followers.all():
            assert follower.reader is not None
            assert follower.reader.polled_ms() >= last_ms
    parked = [
        connection.in_work.arrived_ms
        for broker in core.cluster.brokers
        for connection in broker.connections()
        if connection.in_work is not None
    ]
    assert len(parked) == 6
    assert min(parked) >= last_ms
    connections = [len(broker.connections()) for broker in core.cluster.brokers]
    opened = [broker.connections_opened for broker in core.cluster.brokers]
    core.advance(2 * HOUR_MS)
    assert [len(broker.connections()) for broker in core.cluster.brokers] == connections
    assert [broker.connections_opened for broker in core.cluster.brokers] == opened


def test_a_week_of_an_idle_cluster_is_a_few_steps() -> None:
    core = MovedCore(skips=True)
    core.advance(7 * DAY_MS)
    assert core.ticks < 400
    per_broker = 7 * DAY_MS / 2000
    assert core.skipped[HEARTBEATS] == pytest.approx(3 * per_broker, rel=0.01)
    assert core.skipped[FETCHES] == pytest.approx(6 * 7 * DAY_MS / 500, rel=0.01)
    assert core.skipped[IN_SYNC_CHECKS] == pytest.approx(3 * 7 * DAY_MS / 15_000, rel=0.01)
    assert core.skipped[BALANCE_CHECKS] == pytest.approx(7 * DAY_MS / 300_000, rel=0.01)


def test_only_a_rule_that_may_meet_brokers_has_each_round_played() -> None:
    core = MovedCore(skips=True)
    core.cluster.faults.add(Fault.from_dict({"api": "Fetch", "error": 6}))
    core.cluster.faults.add(Fault.from_dict({"delay_ms": 5, "listener": "PLAIN*"}))
    core.advance(DAY_MS)
    assert core.ticks < 400
    (armed, _) = core.cluster.faults.list()
    assert (armed.hits, armed.matched) == (0, 0)
    core.cluster.faults.add(Fault.from_dict({"delay_ms": 5, "listener": "*"}))
    before = dict(core.skipped)
    core.advance(60_000)
    assert core.skipped == before


def test_the_session_of_a_broker_that_died_ends_on_the_way() -> None:
    core = MovedCore(skips=True)
    core.advance(10_000)
    core.controls.kill(2, fence=False)
    core.advance(DAY_MS)
    assert core.cluster.metadata.brokers[2].fenced
    assert all(2 not in core.state("t", index).isr for index in range(3))
    assert core.skipped[FETCHES] > 100_000
