"""Two brokers of ours and one of Apache Kafka are one cluster: each stops and starts in turn.

An idempotent producer with acks=all writes all the while. Each broker leads a partition, follows
two, leads in the place of another, and gives back.
"""

from __future__ import annotations

import time
from operator import ge
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from mockbroker.testing.mock_broker import MockBroker
from tests.raft.test_real_followers import create, kafka_jars
from tests.support.real_brokers import DEADLINE_SECONDS, RealBroker

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from confluent_kafka import KafkaError, Message

    from mockbroker.testing.cluster_view import ClusterView

__all__ = ["kafka_jars"]

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(240)]
TOPIC = "mixed"
REPLICAS = [[3, 1, 2], [1, 2, 3], [2, 3, 1]]
PREFERRED = [3, 1, 2]
REAL = 3
STEP = 30
"""Records of each partition that are written while something is as it is."""
CONFIG = {"min.insync.replicas": "2", "broker.session.timeout.ms": "6000"}


class Writer:
    """Writes to all partitions as long as it is told to, and counts what was acknowledged."""

    def __init__(self, bootstrap: str) -> None:
        self._producer = Producer(
            {"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 2}
        )
        self.sent = 0
        """Records of each partition, whose values count them."""
        self._refused: list[KafkaError] = []
        self._acknowledged = [0] * len(REPLICAS)

    def write_until(self, condition: Callable[[], bool]) -> None:
        """Write on until that is so."""
        deadline = time.monotonic() + DEADLINE_SECONDS
        while not condition():
            assert time.monotonic() < deadline
            for partition in range(len(REPLICAS)):
                value = str(self.sent).encode()
                self._producer.produce(TOPIC, value, partition=partition, on_delivery=self._told)
            self.sent += 1
            self._producer.poll(0.01)

    def write_more(self) -> None:
        """Until some more of each partition were acknowledged."""
        wanted = [count + STEP for count in self._acknowledged]
        self.write_until(lambda: all(map(ge, self._acknowledged, wanted)))

    def finish(self) -> None:
        """Wait for all that is under way: none is refused."""
        assert self._producer.flush(DEADLINE_SECONDS) == 0
        assert self._refused == []
        assert self._acknowledged == [self.sent] * len(REPLICAS)

    def _told(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self._refused.append(error)
        else:
            self._acknowledged[message.partition() or 0] += 1


def test_each_broker_stops_and_starts_in_turn_and_nothing_is_lost(tmp_path: Path) -> None:
    with (
        MockBroker(brokers=2, controller_port=0, config=CONFIG) as broker,
        RealBroker(broker, tmp_path, REAL) as real,
    ):
        cluster = broker.cluster
        create(broker, TOPIC, REPLICAS)
        writer = Writer(f"{broker.bootstrap_servers},{real.address}")
        turns: list[tuple[int, Callable[[], None], Callable[[], None]]] = [
            (1, lambda: cluster.stop(1), lambda: cluster.revive(1)),
            (REAL, real.stop, real.start),
            (2, lambda: cluster.kill(2), lambda: cluster.revive(2)),
            (REAL, real.kill, real.start),
        ]
        for node, stop, start in turns:
            writer.write_until(lambda: leaders(cluster) == PREFERRED)
            writer.write_more()
            stop()
            writer.write_until(lambda node=node: node not in leaders(cluster))  # type: ignore[misc]
            writer.write_more()
            start()
            writer.write_until(lambda: in_sync(cluster) == [[1, 2, 3]] * len(REPLICAS))
            cluster.elect_preferred(TOPIC, PREFERRED.index(node))
        writer.write_more()
        writer.finish()
        written = [str(index).encode() for index in range(writer.sent)]
        for partition in range(len(REPLICAS)):
            for node in (1, 2):
                cluster.wait_in_sync(TOPIC, partition)
                stored = cluster.records(TOPIC, partition, node)
                assert [one.value for one in stored] == written
            cluster.move_leader(TOPIC, partition, to=REAL)
        assert read(real.address, len(written)) == [written] * len(REPLICAS)


def leaders(cluster: ClusterView[MockBroker]) -> list[int]:
    return [cluster.leader(TOPIC, partition) for partition in range(len(REPLICAS))]


def in_sync(cluster: ClusterView[MockBroker]) -> list[list[int]]:
    return [sorted(cluster.isr(TOPIC, partition)) for partition in range(len(REPLICAS))]


def read(bootstrap: str, count: int) -> list[list[bytes | str | None]]:
    """The values of each partition, of which there are so many."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "none"})
    consumer.assign([TopicPartition(TOPIC, partition, 0) for partition in range(len(REPLICAS))])
    found: list[list[bytes | str | None]] = [[] for _ in REPLICAS]
    for message in consumer.consume(count * len(REPLICAS), DEADLINE_SECONDS):
        assert message.error() is None
        found[message.partition() or 0].append(message.value())
    consumer.close()
    return found
