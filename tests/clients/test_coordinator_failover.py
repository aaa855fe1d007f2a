"""Coordinators that die with what only they have: offsets are not un-read, nor lost after a commit.

Three brokers in this process, and librdkafka over TCP. The followers of the group's partition stop
to fetch, its coordinator goes on alone and is killed; one of the followers takes over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import confluent_kafka
import pytest
from confluent_kafka import TopicPartition

from mockbroker import MockBroker
from tests.clients.settled import settled

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.clients, pytest.mark.timeout(120)]

DEADLINE_S = 30.0
OFFSETS = "__consumer_offsets"
RECORDS = 5


class Coordinator:
    """The coordinator of "g", and what becomes of it."""

    def __init__(self, broker: MockBroker) -> None:
        self.broker = broker
        self.cluster = broker.cluster
        self.bootstrap = broker.bootstrap_servers
        self.held: list[int] = []

    def consumer(self, isolation: str) -> confluent_kafka.Consumer:
        return confluent_kafka.Consumer(
            {
                "bootstrap.servers": self.bootstrap,
                "group.id": "g",
                "isolation.level": isolation,
                "enable.auto.commit": False,
                "log_level": 0,
            }
        )

    @property
    def node(self) -> int:
        return self.cluster.coordinator("g")

    def hold(self) -> None:
        """What it writes from now on, it alone has."""
        self.cluster.wait_in_sync(OFFSETS, 0)
        self.held = [one for one in self.cluster.replicas(OFFSETS, 0) if one != self.node]
        for follower in self.held:
            self.cluster.hold_follower(OFFSETS, 0, follower)

    def release(self) -> None:
        for follower in self.held:
            self.cluster.release_follower(OFFSETS, 0, follower)

    def fail_over(self) -> None:
        """It dies, and one of its followers takes over."""
        self.cluster.kill(self.node)
        self.release()

    def written(self) -> int:
        return len(self.cluster.records(OFFSETS, 0, self.node))


@pytest.fixture
def coordinator() -> Iterator[Coordinator]:
    config = {"offsets.topic.num.partitions": "1"}
    with MockBroker(brokers=3, topics={"t": 1, "out": 1}, config=config, seed=1) as broker:
        yield Coordinator(broker)


def committed(consumer: confluent_kafka.Consumer) -> int:
    (found,) = consumer.committed([TopicPartition("t", 0)], timeout=DEADLINE_S)
    assert found.error is None
    return int(found.offset)


def test_an_offset_that_only_the_coordinator_has_is_not_told(coordinator: Coordinator) -> None:
    writer = coordinator.consumer("read_uncommitted")
    writer.commit(offsets=[TopicPartition("t", 0, 10)], asynchronous=False)
    reader = coordinator.consumer("read_uncommitted")
    assert committed(reader) == 10
    coordinator.hold()
    before = coordinator.written()
    writer.commit(offsets=[TopicPartition("t", 0, 20)], asynchronous=True)
    settled(coordinator.written, before + 1)
    assert committed(reader) == 10
    coordinator.fail_over()
    # 20 only if the client has committed it again.
    assert committed(reader) in (10, 20)
    for consumer in (writer, reader):
        consumer.close()


def test_a_stable_offset_is_told_once_it_is_replicated(coordinator: Coordinator) -> None:
    writer, reader = (coordinator.consumer("read_committed") for _ in range(2))
    writer.commit(offsets=[TopicPartition("t", 0, 10)], asynchronous=False)
    assert committed(reader) == 10
    coordinator.hold()
    before = coordinator.written()
    writer.commit(offsets=[TopicPartition("t", 0, 20)], asynchronous=True)
    settled(coordinator.written, before + 1)
    with pytest.raises(confluent_kafka.KafkaException):
        reader.committed([TopicPartition("t", 0)], timeout=1.0)
    coordinator.release()
    assert committed(reader) == 20
    for consumer in (writer, reader):
        consumer.close()


def test_offsets_of_a_committed_transaction_survive_their_coordinator(
    coordinator: Coordinator,
) -> None:
    topic, out = (coordinator.broker.topic(name) for name in ("t", "out"))
    for number in range(RECORDS):
        topic.put(str(number), partition=0)
    reader = coordinator.consumer("read_committed")
    reader.assign([TopicPartition("t", 0, 0)])
    read: list[bytes | None] = []
    while len(read) < RECORDS:
        read += [one.value() for one in reader.consume(RECORDS, 1.0) if not one.error()]
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": coordinator.bootstrap, "transactional.id": "x", "log_level": 0}
    )
    producer.init_transactions(DEADLINE_S)
    producer.begin_transaction()
    for value in read:
        producer.produce("out", value, partition=0)
    assert producer.flush(DEADLINE_S) == 0
    producer.send_offsets_to_transaction(
        [TopicPartition("t", 0, RECORDS)], reader.consumer_group_metadata(), DEADLINE_S
    )
    coordinator.hold()
    producer.commit_transaction(DEADLINE_S)
    settled(lambda: len(out.records(isolation="read_committed")), RECORDS)
    coordinator.fail_over()
    assert committed(reader) == RECORDS
    producer.begin_transaction()
    producer.produce("out", "next", partition=0)
    producer.commit_transaction(DEADLINE_S)
    settled(lambda: len(out.records(isolation="read_committed")), RECORDS + 1)
    reader.close()
