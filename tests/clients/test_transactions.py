"""Transactional producers of three libraries: consume, transform, produce, commit; aborts, fencing.

Each library moves records from one topic to another and commits the offsets that it read in the
same transactions, some of which it aborts and repeats. A second producer with the same id fences
the first. What a read_committed consumer sees then must be exactly what was committed, in order.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import confluent_kafka
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import ProducerFenced
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from tests.clients.one_record import KAFKA_PYTHON_POLL_MS

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.clients, pytest.mark.timeout(120)]

RECORDS = 120
BATCH = 20
# Every third transaction is given up first, and then done again.
ABORTS_EVERY = 3
DEADLINE_S = 30.0
PARTITIONS = 2


class Names:
    """Source, target, group and transactional id of one test."""

    def __init__(self) -> None:
        unique = uuid.uuid4().hex[:12]
        self.source = f"orders-{unique}"
        self.target = f"invoices-{unique}"
        self.group = f"billing-{unique}"
        self.transactional_id = f"biller-{unique}"


@pytest.fixture
def names(server_process: str) -> Iterator[Names]:
    """Those of topics that are there, and filled."""
    with filled(server_process) as names:
        yield names


@contextmanager
def filled(server_process: str) -> Iterator[Names]:
    """The topics are there, and the source is filled: key N has value N, by turns."""
    names = Names()
    admin = AdminClient({"bootstrap.servers": server_process})
    topics = [NewTopic(name, PARTITIONS, 1) for name in (names.source, names.target)]
    for created in admin.create_topics(topics).values():
        created.result(DEADLINE_S)
    producer = confluent_kafka.Producer({"bootstrap.servers": server_process})
    for number in range(RECORDS):
        producer.produce(names.source, value=b"%d" % number, partition=number % PARTITIONS)
    assert producer.flush(DEADLINE_S) == 0
    yield names
    admin.delete_topics([names.source, names.target])


def expected() -> dict[int, list[bytes]]:
    """What the target's partitions must hold: each record once, in order."""
    return {
        index: [b"done %d" % number for number in range(index, RECORDS, PARTITIONS)]
        for index in range(PARTITIONS)
    }


def read_target(bootstrap: str, topic: str, *, isolation: str) -> dict[int, list[bytes]]:
    """Every record up to the end, by partition."""
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": f"reader-{uuid.uuid4().hex}",
            "isolation.level": isolation,
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    consumer.assign(
        [confluent_kafka.TopicPartition(topic, index, 0) for index in range(PARTITIONS)]
    )
    found: dict[int, list[bytes]] = {index: [] for index in range(PARTITIONS)}
    ended: set[int] = set()
    deadline = time.monotonic() + DEADLINE_S
    while len(ended) < PARTITIONS:
        assert time.monotonic() < deadline
        message: Any = consumer.poll(0.5)
        if message is None:
            continue
        error = message.error()
        if error is not None:
            assert error.code() == confluent_kafka.KafkaError._PARTITION_EOF, error
            ended.add(message.partition())
        else:
            found[message.partition()].append(message.value())
    consumer.close()
    return found


def committed_offsets(bootstrap: str, names: Names) -> dict[int, int]:
    consumer = confluent_kafka.Consumer({"bootstrap.servers": bootstrap, "group.id": names.group})
    partitions = [
        confluent_kafka.TopicPartition(names.source, index) for index in range(PARTITIONS)
    ]
    committed = consumer.committed(partitions, timeout=DEADLINE_S)
    consumer.close()
    return {one.partition: one.offset for one in committed}


def check(bootstrap: str, names: Names) -> None:
    assert read_target(bootstrap, names.target, isolation="read_committed") == expected()
    everything = read_target(bootstrap, names.target, isolation="read_uncommitted")
    assert sum(map(len, everything.values())) > RECORDS, "nothing was aborted"
    assert committed_offsets(bootstrap, names) == dict.fromkeys(
        range(PARTITIONS), RECORDS // PARTITIONS
    )


# -- confluent-kafka -----------------------------------------------------------------------


def confluent_producer(bootstrap: str, names: Names) -> confluent_kafka.Producer:
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": bootstrap, "transactional.id": names.transactional_id}
    )
    producer.init_transactions(DEADLINE_S)
    return producer


def test_confluent_kafka_consumes_transforms_and_produces(
    server_process: str, names: Names
) -> None:
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": server_process,
            "group.id": names.group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
        }
    )
    consumer.subscribe([names.source])
    producer = confluent_producer(server_process, names)
    deadline = time.monotonic() + DEADLINE_S
    done = attempt = 0
    while done < RECORDS:
        assert time.monotonic() < deadline
        messages: list[Any] = [
            one for one in consumer.consume(BATCH, timeout=1.0) if one.error() is None
        ]
        if not messages:
            continue
        attempt += 1
        producer.begin_transaction()
        for message in messages:
            value = message.value()
            assert value is not None
            producer.produce(names.target, b"done " + value, partition=message.partition())
        if attempt % ABORTS_EVERY == 0:
            # An abort throws away what has not been sent yet.
            assert producer.flush(DEADLINE_S) == 0
            producer.abort_transaction(DEADLINE_S)
            rewind(consumer, messages)
            continue
        producer.send_offsets_to_transaction(
            consumer.position(consumer.assignment()),
            consumer.consumer_group_metadata(),
            DEADLINE_S,
        )
        producer.commit_transaction(DEADLINE_S)
        done += len(messages)
    consumer.close()
    check(server_process, names)


def rewind(consumer: confluent_kafka.Consumer, messages: list[Any]) -> None:
    """Read again what was aborted."""
    first: dict[int, Any] = {}
    for message in messages:
        first.setdefault(message.partition(), message)
    for message in first.values():
        consumer.seek(
            confluent_kafka.TopicPartition(message.topic(), message.partition(), message.offset())
        )


def test_confluent_kafka_is_fenced_by_its_successor(server_process: str, names: Names) -> None:
    first = confluent_producer(server_process, names)
    first.begin_transaction()
    first.produce(names.target, b"lost", partition=0)
    assert first.flush(DEADLINE_S) == 0
    second = confluent_producer(server_process, names)
    first.produce(names.target, b"lost too", partition=0)
    with pytest.raises(confluent_kafka.KafkaException) as caught:
        first.commit_transaction(DEADLINE_S)
    assert caught.value.args[0].fatal() or caught.value.args[0].txn_requires_abort()
    second.begin_transaction()
    second.produce(names.target, b"kept", partition=0)
    second.commit_transaction(DEADLINE_S)
    found = read_target(server_process, names.target, isolation="read_committed")
    assert found == {0: [b"kept"], 1: []}


# -- aiokafka ------------------------------------------------------------------------------


async def test_aiokafka_consumes_transforms_and_produces(server_process: str, names: Names) -> None:
    consumer = AIOKafkaConsumer(
        bootstrap_servers=server_process,
        group_id=names.group,
        enable_auto_commit=False,
        isolation_level="read_committed",
        auto_offset_reset="earliest",
    )
    partitions = [TopicPartition(names.source, index) for index in range(PARTITIONS)]
    consumer.assign(partitions)
    producer = AIOKafkaProducer(
        bootstrap_servers=server_process, transactional_id=names.transactional_id
    )
    async with asyncio.timeout(DEADLINE_S):
        await consumer.start()
        await producer.start()
        done = attempt = 0
        while done < RECORDS:
            found = await consumer.getmany(timeout_ms=1_000, max_records=BATCH)
            attempt += bool(found)
            await producer.begin_transaction()
            for partition, records in found.items():
                for record in records:
                    value = b"done " + record.value
                    await producer.send(names.target, value, partition=partition.partition)
            if attempt % ABORTS_EVERY == 0:
                await producer.flush()
                await producer.abort_transaction()
                for partition, records in found.items():
                    consumer.seek(partition, records[0].offset)
                continue
            offsets = {partition: records[-1].offset + 1 for partition, records in found.items()}
            if offsets:
                await producer.send_offsets_to_transaction(offsets, names.group)
            await producer.commit_transaction()
            done += sum(map(len, found.values()))
        await producer.stop()
        await consumer.stop()
    await asyncio.to_thread(check, server_process, names)


async def test_aiokafka_is_fenced_by_its_successor(server_process: str, names: Names) -> None:
    first, second = (
        AIOKafkaProducer(bootstrap_servers=server_process, transactional_id=names.transactional_id)
        for _ in range(2)
    )
    async with asyncio.timeout(DEADLINE_S):
        await first.start()
        await first.begin_transaction()
        await first.send_and_wait(names.target, b"lost", partition=0)
        await second.start()
        with pytest.raises(ProducerFenced):
            await first.commit_transaction()
        async with second.transaction():
            await second.send_and_wait(names.target, b"kept", partition=0)
        await second.stop()
        await first.stop()
    found = await asyncio.to_thread(
        read_target, server_process, names.target, isolation="read_committed"
    )
    assert found == {0: [b"kept"], 1: []}


# -- kafka-python --------------------------------------------------------------------------

# It reads its own schemas in a way that Python is about to drop.
old_resources = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def kafka_python_producer(bootstrap: str, names: Names) -> Any:
    from kafka import KafkaProducer

    return KafkaProducer(bootstrap_servers=bootstrap, transactional_id=names.transactional_id)


@old_resources
def test_kafka_python_consumes_transforms_and_produces(server_process: str, names: Names) -> None:
    from kafka import KafkaConsumer
    from kafka.structs import OffsetAndMetadata

    consumer = KafkaConsumer(
        names.source,
        bootstrap_servers=server_process,
        group_id=names.group,
        enable_auto_commit=False,
        isolation_level="read_committed",
        auto_offset_reset="earliest",
        max_poll_records=BATCH,
    )
    producer = kafka_python_producer(server_process, names)
    producer.init_transactions()
    deadline = time.monotonic() + DEADLINE_S
    done = attempt = 0
    while done < RECORDS:
        assert time.monotonic() < deadline
        found = consumer.poll(timeout_ms=KAFKA_PYTHON_POLL_MS)
        if not found:
            continue
        attempt += 1
        producer.begin_transaction()
        for partition, records in found.items():
            for record in records:
                value = b"done " + record.value
                producer.send(names.target, value, partition=partition.partition)
        if attempt % ABORTS_EVERY == 0:
            producer.flush(DEADLINE_S)
            producer.abort_transaction()
            for partition, records in found.items():
                consumer.seek(partition, records[0].offset)
            continue
        offsets = {
            partition: OffsetAndMetadata(records[-1].offset + 1, "", -1)
            for partition, records in found.items()
        }
        producer.send_offsets_to_transaction(offsets, names.group)
        producer.commit_transaction()
        done += sum(map(len, found.values()))
    producer.close()
    consumer.close()
    check(server_process, names)


@old_resources
def test_kafka_python_is_fenced_by_its_successor(server_process: str, names: Names) -> None:
    from kafka.errors import ProducerFencedError

    first = kafka_python_producer(server_process, names)
    second = kafka_python_producer(server_process, names)
    first.init_transactions()
    first.begin_transaction()
    first.send(names.target, b"lost", partition=0).get(DEADLINE_S)
    second.init_transactions()
    with pytest.raises(ProducerFencedError):
        first.commit_transaction()
    second.begin_transaction()
    second.send(names.target, b"kept", partition=0)
    second.commit_transaction()
    for producer in (first, second):
        producer.close(timeout=1)
    found = read_target(server_process, names.target, isolation="read_committed")
    assert found == {0: [b"kept"], 1: []}
