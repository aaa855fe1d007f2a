"""Cooperative fetches at three brokers over TCP, where no broker both leads and coordinates.

Members are dealt records round while the leader dies, and then the coordinator: all records are
committed in the end, and none is given again after its commit was acknowledged.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

import pytest

from mockbroker import MockBroker
from mockbroker.coop_client import NotInGroupError, SharedConsumer, TopicPartition
from tests.clients.settled import settled

if TYPE_CHECKING:
    from mockbroker.coop_client import Committed
    from mockbroker.coop_client.shared_consumer import Settings

pytestmark = [pytest.mark.clients, pytest.mark.timeout(240)]

PLACE = TopicPartition("t", 0)
MEMBERS = 3
RECORDS = 120
DEADLINE_S = 120.0
CONFIG = {
    "coop.extension.enable": True,
    "group.initial.rebalance.delay.ms": 0,
    "offsets.topic.num.partitions": 1,
    "offsets.topic.replication.factor": 3,
    "default.replication.factor": 3,
    "min.insync.replicas": 2,
    "coop.fetch.lease.ms": 2000,
    "coop.fetch.max.records": 4,
}
SETTINGS: Settings = {
    "auto_offset_reset": "earliest",
    "session_timeout_ms": 6000,
    "heartbeat_ms": 200,
}


def is_done(offset: int, group: Committed) -> bool:
    """Whether the group has committed it."""
    return offset < group.stable or any(first <= offset <= last for first, last in group.ranges)


class Run:
    """What members saw, and what of it was acknowledged before."""

    def __init__(self, broker: MockBroker) -> None:
        self.broker = broker
        self.seen_by: dict[int, set[int]] = {}
        self.committed: set[int] = set()
        self.came_again: list[int] = []
        self._more = asyncio.Event()

    async def work(self, number: int) -> None:
        """One member, until all is committed."""
        async with SharedConsumer(
            self.broker.bootstrap_servers,
            group_id="g",
            topics=["t"],
            mode="round_robin",
            **SETTINGS,
        ) as consumer:
            while len(self.committed) < RECORDS:
                records = await consumer.poll(0.2, max_records=4)
                offsets = {one.offset for one in records}
                self.came_again += sorted(offsets & self.committed)
                self.seen_by.setdefault(number, set()).update(offsets)
                for record in records:
                    consumer.ack(record)
                try:
                    told = await consumer.commit()
                except NotInGroupError:
                    continue
                # A coordinator that is new knows of no lease: what it refuses comes again.
                self.committed |= {one for one in offsets if is_done(one, told[PLACE])}
                self._more.set()

    async def fill(self) -> None:
        """Put the records once all members are there."""
        group, topic = self.broker.group("g"), self.broker.topic("t")
        await asyncio.to_thread(settled, lambda: len(group.members()), wanted=MEMBERS)
        for number in range(RECORDS):
            await asyncio.to_thread(topic.put, b"%d" % number)

    async def until(self, committed: int) -> None:
        """So many are."""
        while len(self.committed) < committed:
            self._more.clear()
            await self._more.wait()

    async def disturb(self) -> None:
        """Kill the leader, and then the coordinator; each comes back, and both stay apart."""
        cluster = self.broker.cluster
        await self.until(RECORDS // 4)
        for fraction, victim in (
            (2, partial(cluster.leader, "t", 0)),
            (1.3, partial(cluster.coordinator, "g")),
        ):
            dead = await asyncio.to_thread(victim)
            await asyncio.to_thread(cluster.kill, dead)
            await asyncio.to_thread(cluster.revive, dead)
            for topic in ("t", "__consumer_offsets", "__individual_commit_offsets"):
                await asyncio.to_thread(cluster.wait_in_sync, topic, 0)
            await asyncio.to_thread(part, self.broker)
            await self.until(int(RECORDS / fraction))


def part(broker: MockBroker) -> None:
    """Let another broker lead than the one that coordinates."""
    cluster = broker.cluster
    coordinator = cluster.coordinator("g")
    if cluster.leader("t", 0) == coordinator:
        cluster.move_leader("t", 0, to=coordinator % 3 + 1)


async def all_of(run: Run) -> None:
    async with asyncio.timeout(DEADLINE_S):
        await asyncio.gather(run.fill(), run.disturb(), *map(run.work, range(MEMBERS)))


def test_records_are_dealt_round_over_brokers() -> None:
    with MockBroker(brokers=3, topics={"t": 1}, config=CONFIG, seed=1) as broker:
        part(broker)
        run = Run(broker)
        asyncio.run(all_of(run))
        assert run.came_again == []
        assert set().union(*run.seen_by.values()) == set(range(RECORDS))
        assert all(len(offsets) > 1 for offsets in run.seen_by.values())
        settled(lambda: broker.group("g").committed(), wanted={("t", 0): RECORDS})
