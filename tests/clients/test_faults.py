"""What clients do when the broker misbehaves: each rides out what a cluster does on a bad day.

The figures that docs/faults.md gives for each client come from here: every record arrives although
the rule fired, or the error that the application gets is the one that is said.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.errors import CorruptRecordException, ProducerFenced, RequestTimedOutError

from mockbroker import MockBroker
from mockbroker.faults import Fault
from mockbroker.faults.presets import preset
from tests.clients.one_record import KAFKA_PYTHON_POLL_MS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = [
    pytest.mark.clients,
    pytest.mark.timeout(120),
    pytest.mark.filterwarnings("ignore:(read|open)_text is deprecated"),  # by kafka-python
]

COUNT = 20
DEADLINE_SECONDS = 60.0
VALUES = [f"value {number}".encode() for number in range(COUNT)]


@pytest.fixture
def broker() -> Iterator[MockBroker]:
    with MockBroker(topics=["orders"]) as running:
        yield running


def with_kafka_python(bootstrap: str) -> list[bytes]:
    from kafka import KafkaConsumer, KafkaProducer

    producer = KafkaProducer(bootstrap_servers=bootstrap, linger_ms=0, request_timeout_ms=5_000)
    for value in VALUES:
        producer.send("orders", value)
    producer.flush(DEADLINE_SECONDS)
    producer.close()
    consumer = KafkaConsumer(
        "orders",
        bootstrap_servers=bootstrap,
        group_id="readers",
        auto_offset_reset="earliest",
        request_timeout_ms=15_000,
        fetch_max_wait_ms=100,
    )
    read: list[bytes] = []
    deadline = time.monotonic() + DEADLINE_SECONDS
    while len(set(read)) < COUNT and time.monotonic() < deadline:
        for records in consumer.poll(timeout_ms=KAFKA_PYTHON_POLL_MS).values():
            read += [record.value for record in records]
    consumer.close()
    return read


def with_confluent_kafka(bootstrap: str) -> list[bytes]:
    from confluent_kafka import Consumer, Producer

    common = {"bootstrap.servers": bootstrap, "socket.timeout.ms": 5_000}
    producer = Producer({**common, "linger.ms": 0, "retry.backoff.ms": 50})
    for value in VALUES:
        producer.produce("orders", value)
    assert producer.flush(DEADLINE_SECONDS) == 0
    consumer = Consumer(
        {
            **common,
            "group.id": "readers",
            "auto.offset.reset": "earliest",
            "fetch.wait.max.ms": 100,
            "check.crcs": True,
        }
    )
    consumer.subscribe(["orders"])
    read: list[bytes] = []
    deadline = time.monotonic() + DEADLINE_SECONDS
    while len(set(read)) < COUNT and time.monotonic() < deadline:
        message = consumer.poll(0.2)
        if message is not None and message.error() is None:
            read.append(message.value() or b"")
    consumer.close()
    return read


def with_aiokafka(bootstrap: str) -> list[bytes]:
    return asyncio.run(_with_aiokafka(bootstrap))


async def _with_aiokafka(bootstrap: str) -> list[bytes]:
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap, request_timeout_ms=5_000)
    await producer.start()
    for value in VALUES:
        await producer.send_and_wait("orders", value)
    await producer.stop()
    consumer = AIOKafkaConsumer(
        "orders",
        bootstrap_servers=bootstrap,
        group_id="readers",
        auto_offset_reset="earliest",
        fetch_max_wait_ms=100,
        request_timeout_ms=5_000,
    )
    await consumer.start()
    read: list[bytes] = []
    deadline = time.monotonic() + DEADLINE_SECONDS
    while len(set(read)) < COUNT and time.monotonic() < deadline:
        for records in (await consumer.getmany(timeout_ms=200)).values():
            read += [record.value for record in records]
    await consumer.stop()
    return read


async def send_with_aiokafka(broker: MockBroker, fault: str) -> None:
    broker.faults.add(RIDDEN_OUT[fault])
    async with AIOKafkaProducer(
        bootstrap_servers=broker.bootstrap_servers, request_timeout_ms=1_000
    ) as producer:
        await producer.send_and_wait("orders", b"value")


CLIENTS: dict[str, Callable[[str], list[bytes]]] = {
    "kafka-python": with_kafka_python,
    "confluent-kafka": with_confluent_kafka,
    "aiokafka": with_aiokafka,
}

RIDDEN_OUT: dict[str, list[Fault]] = {
    "leader_moved": preset("leader_moved", topic="orders"),
    "coordinator_loading": preset("coordinator_loading"),
    "not_enough_replicas": preset("not_enough_replicas"),
    "throttled": preset("throttled", throttle_ms=50, count=4),
    "slow_disk": preset("slow_disk", mean_ms=20, deviation_ms=10),
    "disconnect": [Fault(api=("Produce", "Fetch"), nth=1, disconnect=True)],
    "reset": [Fault(api=("Produce", "Fetch"), nth=1, reset=True)],
    "half-close": [Fault(api="Fetch", nth=1, half_close=True)],
    "truncated": [Fault(api="Fetch", nth=1, truncate_at=20)],
    "slices": [Fault(slice_bytes=7)],
    "slow-network": [Fault(latency_ms=10, bandwidth=100_000)],
    "silence": [Fault(api="Produce", nth=1, drop=True)],
    "answer-lost": [Fault(api="Produce", nth=1, disconnect=True, stage="after")],
}


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("fault", RIDDEN_OUT)
def test_a_client_rides_it_out(broker: MockBroker, client: str, fault: str) -> None:
    if (client, fault) == ("aiokafka", "silence"):
        with pytest.raises(RequestTimedOutError):  # its time-out of a request is that of a send
            asyncio.run(send_with_aiokafka(broker, fault))
        return
    broker.faults.add(RIDDEN_OUT[fault])
    read = CLIENTS[client](broker.bootstrap_servers)
    assert sorted(set(read)) == sorted(VALUES)
    assert sum(status.hits for status in broker.faults.list()) > 0


@pytest.mark.parametrize("client", ["kafka-python", "confluent-kafka"])
def test_an_evicted_session_is_opened_anew(broker: MockBroker, client: str) -> None:
    """aiokafka opens none."""
    broker.faults.add(preset("session_evicted", count=2))
    assert sorted(set(CLIENTS[client](broker.bootstrap_servers))) == sorted(VALUES)


async def test_a_poisoned_batch_is_an_error_to_aiokafka() -> None:
    async with MockBroker(topics=["orders"], faults=preset("poison_batch")) as broker:
        async with AIOKafkaProducer(bootstrap_servers=broker.bootstrap_servers) as producer:
            await producer.send_and_wait("orders", b"value")
        async with AIOKafkaConsumer(
            "orders", bootstrap_servers=broker.bootstrap_servers, auto_offset_reset="earliest"
        ) as consumer:
            with pytest.raises(CorruptRecordException):
                await asyncio.wait_for(consumer.getone(), 30)


def test_a_poisoned_batch_is_an_error_to_confluent_kafka(broker: MockBroker) -> None:
    from confluent_kafka import Consumer, KafkaError

    broker.topic("orders").put(b"value")
    broker.faults.add(preset("poison_batch"))
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": "g",
            "auto.offset.reset": "earliest",
            "check.crcs": True,
        }
    )
    consumer.subscribe(["orders"])
    deadline = time.monotonic() + DEADLINE_SECONDS
    message = None
    while message is None and time.monotonic() < deadline:
        message = consumer.poll(0.2)
    consumer.close()
    assert message is not None
    error = message.error()
    assert error is not None
    assert error.code() == KafkaError._BAD_MSG


async def test_a_fenced_producer_fails_for_good() -> None:
    async with MockBroker(topics=["orders"]) as broker:
        producer = AIOKafkaProducer(
            bootstrap_servers=broker.bootstrap_servers, transactional_id="tx"
        )
        await producer.start()
        broker.faults.add(preset("fenced_producer", transactional_id="tx"))
        await producer.begin_transaction()
        with pytest.raises(ProducerFenced):
            await producer.send_and_wait("orders", b"value")
        await producer.stop()


def test_a_rolling_restart_is_ridden_out_by_a_group(broker: MockBroker) -> None:
    broker.faults.add(preset("rolling_restart", down_ms=300))
    assert sorted(set(with_confluent_kafka(broker.bootstrap_servers))) == sorted(VALUES)
