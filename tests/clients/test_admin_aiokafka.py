"""aiokafka's admin: what each of its methods brings. It speaks older versions than the others."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import aiokafka
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = [pytest.mark.clients, pytest.mark.timeout(180)]

PARTITIONS = 3
RECORDS = 12
EACH = RECORDS // PARTITIONS


@asynccontextmanager
async def administering(bootstrap: str) -> AsyncIterator[AIOKafkaAdminClient]:
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        yield admin
    finally:
        await admin.close()


@asynccontextmanager
async def filled(admin: AIOKafkaAdminClient, bootstrap: str, topic: str) -> AsyncIterator[None]:
    """The topic with as many records in each partition."""
    await admin.create_topics([NewTopic(topic, PARTITIONS, 1)])
    async with AIOKafkaProducer(bootstrap_servers=bootstrap) as producer:
        for number in range(RECORDS):
            await producer.send_and_wait(topic, b"%d" % number, partition=number % PARTITIONS)
    yield
    await admin.delete_topics([topic])


async def test_topics(server_process: str, topic: str) -> None:
    async with administering(server_process) as admin:
        made = await admin.create_topics([NewTopic(topic, 2, 1)])
        assert [each[:2] for each in made.topic_errors] == [(topic, 0)]
        again = await admin.create_topics([NewTopic(topic, 2, 1)])
        assert [each[1] for each in again.topic_errors] == [36]
        validated = await admin.create_topics([NewTopic(f"{topic}-not", 1, 1)], validate_only=True)
        assert [each[1] for each in validated.topic_errors] == [0]
        grown = await admin.create_partitions({topic: NewPartitions(PARTITIONS)})
        assert [each[1] for each in grown.topic_errors] == [0]
        wanted = {(index, 1, (1,), (1,)) for index in range(PARTITIONS)}
        told: set[Any] = set()
        while told != wanted:
            [one] = await admin.describe_topics([topic])
            told = {
                (each["partition"], each["leader"], tuple(each["replicas"]), tuple(each["isr"]))
                for each in one["partitions"]
            }
        listed = await admin.list_topics()
        assert topic in listed
        assert f"{topic}-not" not in listed
        gone = await admin.delete_topics([topic])
        assert list(gone.topic_error_codes) == [(topic, 0)]
        while topic in await admin.list_topics():
            pass
        missing = await admin.delete_topics([topic])
        assert list(missing.topic_error_codes) == [(topic, 3)]


async def test_configs(server_process: str, topic: str) -> None:
    async with administering(server_process) as admin, filled(admin, server_process, topic):

        async def told() -> tuple[str, int]:
            asked = ConfigResource(ConfigResourceType.TOPIC, topic, {"retention.ms": None})
            [answer] = await admin.describe_configs([asked], include_synonyms=True)
            [resource] = answer.resources
            [entry] = resource[4]
            return entry[1], entry[3]

        wanted = ConfigResource(ConfigResourceType.TOPIC, topic, {"retention.ms": "77"})
        [answer] = await admin.alter_configs([wanted])
        assert [each[0] for each in answer.resources] == [0]
        while await told() != ("77", 1):
            pass
        wrong = ConfigResource(ConfigResourceType.TOPIC, topic, {"retention.ms": "soon"})
        [answer] = await admin.alter_configs([wrong])
        assert [each[0] for each in answer.resources] == [40]
        assert await told() == ("77", 1)


async def test_the_cluster_and_its_records(server_process: str, topic: str) -> None:
    async with administering(server_process) as admin, filled(admin, server_process, topic):
        cluster = await admin.describe_cluster()
        [broker] = cluster["brokers"]
        assert f"{broker['host']}:{broker['port']}" == server_process
        assert (broker["node_id"], cluster["controller_id"]) == (1, 1)
        partition = TopicPartition(topic, 0)
        deleted = await admin.delete_records({partition: RecordsToDelete(before_offset=2)})
        assert deleted == {partition: 2}


async def test_a_group_and_its_offsets(server_process: str, topic: str) -> None:
    group = f"{topic}-readers"
    async with administering(server_process) as admin, filled(admin, server_process, topic):
        consumer = AIOKafkaConsumer(
            topic,
            bootstrap_servers=server_process,
            group_id=group,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
        )
        async with consumer:
            got = 0
            while got < RECORDS:
                batches = await consumer.getmany(timeout_ms=1000)
                got += sum(len(batch) for batch in batches.values())
            await consumer.commit()
            [answer] = await admin.describe_consumer_groups([group])
            [told] = answer.groups
            assert told[:5] == (0, group, "Stable", "consumer", "roundrobin")
            assert [each[1] for each in told[5]] == [f"aiokafka-{aiokafka.__version__}"]
            assert (group, "consumer") in await admin.list_consumer_groups()
            assert await admin.find_coordinator(group) == 1
        offsets = await admin.list_consumer_group_offsets(group)
        partitions = [TopicPartition(topic, index) for index in range(PARTITIONS)]
        assert {each: told.offset for each, told in offsets.items()} == dict.fromkeys(
            partitions, EACH
        )
        one = await admin.list_consumer_group_offsets(group, partitions=partitions[:1])
        assert [told.offset for told in one.values()] == [EACH]
