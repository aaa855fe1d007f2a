"""Whatever a seed does to a cluster, idle rounds that are skipped leave it as played ones do."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

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
from tests.support.core import EPOCH_MS
from tests.support.moved_core import MovedCore

if TYPE_CHECKING:
    from collections.abc import Callable


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
