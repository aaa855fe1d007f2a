"""The main job of each Python client: over SASL_SSL with SCRAM and OAUTHBEARER, and by certificate.

A topic is made, a transaction of records committed and one given up; a member of a group reads
what was committed, and commits that.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from typing import TYPE_CHECKING, Literal

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from confluent_kafka import Consumer, Producer
from confluent_kafka import admin as confluent_admin

from mockbroker.coop_client import SharedConsumer
from tests.clients.secured import PRINCIPALS

if TYPE_CHECKING:
    from tests.clients.secured import Secured

pytestmark = [pytest.mark.clients, pytest.mark.timeout(60)]

VALUES = [b"%d" % number for number in range(50)]
GROUP = {"auto_offset_reset": "earliest", "enable_auto_commit": False}


def check(secured: Secured, topic: str, found: list[bytes | None]) -> None:
    assert found == VALUES
    # The end, behind the marker of the transaction that was committed, is not there yet.
    assert secured.broker.group(topic).committed() == {(topic, 0): len(VALUES)}
    secured.check(topic)


def test_confluent_kafka(secured: Secured, topic: str) -> None:
    config = secured.config("confluent")
    admin = confluent_admin.AdminClient(config)
    new = confluent_admin.NewTopic(topic, 1, 1)  # type: ignore[attr-defined]
    admin.create_topics([new])[topic].result(20)
    producer = Producer({**config, "transactional.id": topic})
    producer.init_transactions(20)
    producer.begin_transaction()
    for value in VALUES:
        producer.produce(topic, value)
    producer.commit_transaction(20)
    producer.begin_transaction()
    producer.produce(topic, b"given up")
    producer.flush(20)
    producer.abort_transaction(20)
    group = {"group.id": topic, "auto.offset.reset": "earliest", "enable.auto.commit": False}
    consumer = Consumer({**config, **group})
    consumer.subscribe([topic])
    found: list[bytes | None] = []
    while len(found) < len(VALUES):
        message = consumer.poll(20)
        assert message is not None
        assert message.error() is None
        found.append(message.value())
        consumer.commit(message=message, asynchronous=False)
    consumer.close()
    check(secured, topic, found)


# A process of its own: its imports warn of what is deprecated.
KAFKA_PYTHON = """
import json, sys
from kafka import KafkaConsumer, KafkaProducer
from kafka.admin import KafkaAdminClient, NewTopic
from mockbroker import MockBroker

topic, count, admin_url, told = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
broker = MockBroker.connect(admin_url)
config = broker.client_config("kafka-python", **json.loads(told))
admin = KafkaAdminClient(**config)
admin.create_topics([NewTopic(name=topic, num_partitions=1, replication_factor=1)])
admin.close()
producer = KafkaProducer(**config, transactional_id=topic)
producer.init_transactions()
producer.begin_transaction()
for number in range(count):
    producer.send(topic, b"%d" % number)
producer.commit_transaction()
producer.begin_transaction()
producer.send(topic, b"given up").get(20)
producer.abort_transaction()
producer.close()
consumer = KafkaConsumer(
    topic, **config, group_id=topic, auto_offset_reset="earliest", enable_auto_commit=False,
    isolation_level="read_committed",
)
found = []
while len(found) < count:
    found.append(next(consumer).value.decode())
consumer.commit()
consumer.close()
print(json.dumps(found))
"""


def test_kafka_python(secured: Secured, topic: str) -> None:
    assert secured.broker.admin_url is not None
    told = secured.broker.admin_url, json.dumps(secured.arguments)
    ran = subprocess.run(
        [sys.executable, "-c", KAFKA_PYTHON, topic, str(len(VALUES)), *told],
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    check(secured, topic, [value.encode() for value in json.loads(ran.stdout)])


async def test_aiokafka(secured: Secured, topic: str) -> None:
    config = secured.config("aiokafka")
    admin = AIOKafkaAdminClient(**config)
    await admin.start()
    await admin.create_topics([NewTopic(topic, 1, 1)])
    await admin.close()
    async with AIOKafkaProducer(**config, transactional_id=topic) as producer:
        async with producer.transaction():
            for value in VALUES:
                await producer.send(topic, value)
        await producer.begin_transaction()
        await producer.send_and_wait(topic, b"given up")
        await producer.abort_transaction()
    async with (
        AIOKafkaConsumer(
            topic, **config, **GROUP, group_id=topic, isolation_level="read_committed"
        ) as consumer,
        asyncio.timeout(20),
    ):
        found: list[bytes | None] = []
        while len(found) < len(VALUES):
            found.append((await consumer.getone()).value)
            await consumer.commit()
    check(secured, topic, found)


@pytest.mark.parametrize("mode", ["key_range", "round_robin"])
async def test_shared_consumer(
    secured: Secured, topic: str, mode: Literal["key_range", "round_robin"]
) -> None:
    security = secured.config("aiokafka")
    bootstrap = security.pop("bootstrap_servers")
    secured.broker.topic(topic).create(1)
    secured.broker.topic(topic).put_all([value.decode() for value in VALUES])
    found: list[bytes | None] = []
    async with (
        asyncio.timeout(40),
        SharedConsumer(
            bootstrap,
            group_id=topic,
            topics=[topic],
            mode=mode,
            auto_offset_reset="earliest",
            security=security,
        ) as consumer,
    ):
        while len(found) < len(VALUES):
            records = await consumer.poll(1, 50)
            for record in records:
                found.append(record.value)
                consumer.ack(record)
        await consumer.commit()
    assert found == VALUES
    assert secured.broker.group(topic).committed() == {(topic, 0): len(VALUES)}
    fetched = secured.broker.journal.requests(api="Fetch", topic=topic)
    assert {one.principal for one in fetched} == {PRINCIPALS[secured.security]}
