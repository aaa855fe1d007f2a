"""Real producers with acks=all while the leader dies and returns: nothing acknowledged is lost.

A thread of the test drives three brokers; kafka-python and confluent-kafka write to one partition,
and what they were told to be written is read back by a consumer group whose coordinator may have
been on the dead broker.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import confluent_kafka
import pytest

from mockbroker.api import MockBroker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = [pytest.mark.clients, pytest.mark.timeout(120)]

RECORDS = 600
KILL_AT = 200
REVIVE_AT = 400
DEADLINE_S = 60.0


@pytest.fixture
def cluster() -> Iterator[MockBroker]:
    with MockBroker(brokers=3, topics={"orders": 1}, seed=1) as broker:
        yield broker


def disturbed(broker: MockBroker) -> Callable[[int], None]:
    """To be called with each record's number: kills the leader, and revives it later."""
    killed: list[int] = []

    def disturb(number: int) -> None:
        if number == KILL_AT:
            killed.append(broker.cluster.leader("orders", 0))
            broker.cluster.kill(killed[0])
        elif number == REVIVE_AT:
            broker.cluster.revive(killed[0])

    return disturb


def consumed(broker: MockBroker, wanted: int) -> list[bytes]:
    """What a group reads, each record once as long as nobody writes twice."""
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": "readers",
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe(["orders"])
    values: list[bytes] = []
    deadline = time.monotonic() + DEADLINE_S
    while len(values) < wanted and time.monotonic() < deadline:
        for message in consumer.consume(500, timeout=0.5):
            assert message.error() is None
            values.append(message.value() or b"")
    consumer.commit(asynchronous=False)
    consumer.close()
    return values


def test_confluent_kafka_loses_nothing(cluster: MockBroker) -> None:
    disturb = disturbed(cluster)
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": cluster.bootstrap_servers, "enable.idempotence": True}
    )
    written: list[bytes] = []

    def delivered(error: object, message: confluent_kafka.Message) -> None:
        assert error is None
        written.append(message.value() or b"")

    for number in range(RECORDS):
        disturb(number)
        producer.produce("orders", str(number).encode(), on_delivery=delivered)
        producer.poll(0.001)
    assert producer.flush(DEADLINE_S) == 0
    expected = [str(number).encode() for number in range(RECORDS)]
    assert written == expected
    assert consumed(cluster, RECORDS) == expected
    assert cluster.cluster.brokers == [1, 2, 3]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of how it reads its own schemas
def test_kafka_python_loses_nothing(cluster: MockBroker) -> None:
    import kafka

    disturb = disturbed(cluster)
    producer = kafka.KafkaProducer(
        bootstrap_servers=cluster.bootstrap_servers.split(","),
        acks="all",
        retries=20,
        max_in_flight_requests_per_connection=1,
    )
    futures = []
    for number in range(RECORDS):
        disturb(number)
        futures.append(producer.send("orders", str(number).encode()))
        if number % 50 == 0:
            producer.flush(DEADLINE_S)
    producer.flush(DEADLINE_S)
    offsets = [future.get(DEADLINE_S).offset for future in futures]
    producer.close()
    assert offsets == sorted(offsets)
    values = consumed(cluster, RECORDS)
    assert {str(number).encode() for number in range(RECORDS)} <= set(values)
