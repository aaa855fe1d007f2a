"""librdkafka in both group protocols: nothing is lost or read twice, whatever happens."""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import confluent_kafka
import pytest
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

pytestmark = [pytest.mark.clients, pytest.mark.timeout(120)]

PARTITIONS = 6
DEADLINE_S = 40.0


class Member:
    """Commits what it read before it gives a partition up, and when it leaves.

    In the classic protocol its assignor is one without user data. With librdkafka's
    cooperative-sticky a group that has rebalanced since it had partitions cannot be upgraded any
    more: 69, which is fatal for the member that joins, by Apache Kafka 4.4 as by ours
    ("userData from a custom assignor would be lost").
    """

    def __init__(
        self, bootstrap: str, topic: str, protocol: str, read: list[tuple[int, int]]
    ) -> None:
        settings: dict[str, Any] = {
            "bootstrap.servers": bootstrap,
            "group.id": f"group-{topic}",
            "group.protocol": protocol,
            "auto.offset.reset": "earliest",
            "enable.auto.offset.store": False,
        }
        if protocol == "classic":
            settings |= {
                "partition.assignment.strategy": "range",
                "heartbeat.interval.ms": 200,
            }
        self._read = read
        self._consumer = confluent_kafka.Consumer(settings)
        self._consumer.subscribe([topic], on_revoke=lambda consumer, _: self._commit(consumer))

    def poll(self) -> None:
        message: Any = self._consumer.poll(0.02)
        if message is not None and message.error() is None:
            self._read.append((message.partition(), message.offset()))
            self._consumer.store_offsets(message)

    @staticmethod
    def _commit(consumer: Any) -> None:
        try:
            consumer.commit(asynchronous=False)
        except confluent_kafka.KafkaException as failure:
            if failure.args[0].code() != confluent_kafka.KafkaError._NO_OFFSET:
                raise

    @property
    def share(self) -> int:
        return len(self._consumer.assignment())

    def leave(self) -> None:
        self._commit(self._consumer)
        self._consumer.close()


class World:
    def __init__(self, bootstrap: str, topic: str, stack: ExitStack) -> None:
        self.bootstrap, self.topic, self._stack = bootstrap, topic, stack
        self.read: list[tuple[int, int]] = []
        self.sent = 0
        admin = AdminClient({"bootstrap.servers": bootstrap})
        admin.create_topics([NewTopic(topic, PARTITIONS, 1)])[topic].result()
        self._producer = confluent_kafka.Producer({"bootstrap.servers": bootstrap})

    def join(self, protocol: str) -> Member:
        member = Member(self.bootstrap, self.topic, protocol, self.read)
        self._stack.callback(member._consumer.close)
        return member

    def send(self) -> None:
        for number in range(PARTITIONS * 5):
            self._producer.produce(self.topic, b"x", partition=number % PARTITIONS)
        self._producer.flush()
        self.sent += PARTITIONS * 5

    def until(self, members: Sequence[Member], holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + DEADLINE_S
        while not holds():
            assert time.monotonic() < deadline, [member.share for member in members]
            for member in members:
                member.poll()

    def settle(self, members: Sequence[Member]) -> None:
        """All share the topic alike, and have read all that was sent, each record once."""
        share = PARTITIONS // len(members)
        self.until(members, lambda: all(member.share == share for member in members))
        self.send()
        self.until(members, lambda: len(self.read) >= self.sent)
        assert sorted(self.read) == [
            (index, offset)
            for index in range(PARTITIONS)
            for offset in range(self.sent // PARTITIONS)
        ]


def test_three_members_share_and_one_leaves(server_process: str, topic: str) -> None:
    with ExitStack() as stack:
        world = World(server_process, topic, stack)
        members = [world.join("consumer") for _ in range(3)]
        world.settle(members)
        members.pop().leave()
        world.settle(members)
        members.pop().leave()
        world.settle(members)


def test_a_group_rolls_to_the_other_protocol_and_back(server_process: str, topic: str) -> None:
    with ExitStack() as stack:
        world = World(server_process, topic, stack)
        members = [world.join("classic") for _ in range(2)]
        world.settle(members)
        for protocol in ("consumer", "classic"):
            for _ in range(2):
                members.pop(0).leave()
                members.append(world.join(protocol))
                world.settle(members)
