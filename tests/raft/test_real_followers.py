"""Apache Kafka's own raft client, and a whole broker of it, follow our metadata log.

The client is that of `scripts/bench/java/RaftObserver.java`; the brokers are told where our
controller listens. Both run beside the test as processes of their own.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import time
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from mockbroker.testing.mock_broker import MockBroker
from mockbroker_protocol.messages.reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
)
from scripts.bench.raft_watermark import observing
from tests.clients.server import ROOT
from tests.support.real_brokers import DEADLINE_SECONDS, RealBroker, until
from tests.support.sockets import RawConnection

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(240)]
RECORDS = 25
LAG_SECONDS = 5.0
PATIENT = {
    "replica.lag.time.max.ms": str(int(LAG_SECONDS * 1000)),
    "broker.session.timeout.ms": "120000",
}
"""Whoever does nothing lags, long before it is fenced."""


@pytest.fixture(scope="module", autouse=True)
def kafka_jars() -> None:
    if not (shutil.which("javac") and shutil.which("mvn")):
        pytest.skip("needs a JDK and Maven")
    subprocess.run([ROOT / "scripts" / "kafka", "fetch"], check=True)


@pytest.mark.parametrize("version", [17, 18])
def test_kafkas_raft_client_sees_each_advance(version: int) -> None:
    config = {
        "mockbroker.controller.fetch.max.version": str(version),
        "metadata.max.idle.interval.ms": "0",
    }
    with MockBroker(topics=["a"], controller_port=0, config=config) as broker:
        log = broker.metadata_log
        with observing(broker) as observer:
            log.wait_for_observer(DEADLINE_SECONDS)
            log.hold_commits()
            offset = log.append_no_op()
            log.wait_for_observer(DEADLINE_SECONDS)
            released = time.time_ns() // 1000
            log.release_commits()
            assert observer.wait_for(offset + 1) >= released


def test_a_real_broker_registers_follows_and_serves(tmp_path: Path) -> None:
    """Topics made through it lie on both brokers; clients of either write and read them all."""
    with (
        MockBroker(topics=["a"], controller_port=0) as broker,
        RealBroker(broker, tmp_path) as outside,
    ):
        real = outside.address
        admin = AdminClient({"bootstrap.servers": real})
        until(lambda: len(leaders(real, "a")) == 1)
        admin.create_topics([NewTopic("mixed", 4, 1)])["mixed"].result(DEADLINE_SECONDS)
        until(lambda: len(leaders(real, "mixed")) == 4)
        assert leaders(real, "mixed") == leaders(broker.bootstrap_servers, "mixed")
        assert set(leaders(real, "mixed").values()) == {1, 2}
        for bootstrap in (broker.bootstrap_servers, real):
            write(bootstrap)
        assert read(broker.bootstrap_servers) == read(real) == 2 * 4 * RECORDS


def test_a_real_follower_that_lags_leaves_the_in_sync_set_and_comes_back(tmp_path: Path) -> None:
    """Writes with acks=all go on without it, whether it lags or has stopped."""
    with (
        MockBroker(controller_port=0, config=PATIENT) as broker,
        RealBroker(broker, tmp_path) as real,
    ):
        create(broker, "followed", [[1, 2]])
        until(lambda: in_sync(broker, "followed") == [1, 2])
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "acks": "all"})
        replicated(producer)
        real.pause()
        assert in_sync(broker, "followed") == [1, 2]
        assert LAG_SECONDS - 1 < replicated(producer) < 2 * LAG_SECONDS
        assert in_sync(broker, "followed") == [1]
        assert replicated(producer) < LAG_SECONDS - 1
        real.resume()
        until(lambda: in_sync(broker, "followed") == [1, 2])
        assert replicated(producer) < LAG_SECONDS - 1
        real.stop()
        assert in_sync(broker, "followed") == [1]
        replicated(producer)
        real.start()
        until(lambda: in_sync(broker, "followed") == [1, 2])
        replicated(producer)


def test_a_reassignment_to_a_real_broker_completes(tmp_path: Path) -> None:
    with (
        MockBroker(controller_port=0) as broker,
        RealBroker(broker, tmp_path) as real,
    ):
        create(broker, "followed", [[1]])
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "acks": "all"})
        for _ in range(RECORDS):
            replicated(producer)
        assert asyncio.run(reassign(broker.bootstrap_servers, "followed", [2])) == (0, None)
        until(lambda: leaders(real.address, "followed") == {0: 2})
        assert in_sync(broker, "followed") == [2]
        replicated(producer)
        consumer = at_the_beginning(real.address)
        assert len(consumer.consume(RECORDS + 1, DEADLINE_SECONDS)) == RECORDS + 1
        consumer.close()
        assert asyncio.run(reassign(broker.bootstrap_servers, "followed", [1])) == (0, None)
        until(lambda: broker.cluster.replicas("followed", 0) == [1])
        assert len(broker.cluster.records("followed", 0, 1)) == RECORDS + 1
        replicated(producer)


def test_a_real_leader_is_followed_and_gets_the_lead_back(tmp_path: Path) -> None:
    """What was acknowledged outlives each of the two, when it stops and when it is killed."""
    with (
        MockBroker(controller_port=0) as broker,
        RealBroker(broker, tmp_path) as real,
    ):
        cluster = broker.cluster
        create(broker, "followed", [[2, 1]])
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "acks": "all"})
        written = 0

        def write_led_by(leader: int, *in_sync_set: int) -> None:
            nonlocal written
            assert cluster.leader("followed", 0) == leader
            for _ in range(RECORDS):
                replicated(producer)
            written += RECORDS
            assert in_sync(broker, "followed") == list(in_sync_set)

        def give_back() -> None:
            until(lambda: in_sync(broker, "followed") == [1, 2])
            cluster.elect_preferred("followed", 0)

        write_led_by(2, 1, 2)
        assert len(cluster.records("followed", 0, 1)) == written
        real.stop()
        write_led_by(1, 1)
        real.start()
        give_back()
        write_led_by(2, 1, 2)
        cluster.kill(1)
        producer = Producer({"bootstrap.servers": real.address, "acks": "all"})
        for _ in range(RECORDS):
            replicated(producer)
        written += RECORDS
        cluster.revive(1)
        until(lambda: sorted(cluster.isr("followed", 0)) == [1, 2])
        write_led_by(2, 1, 2)
        for bootstrap in (broker.bootstrap_servers, real.address):
            consumer = at_the_beginning(bootstrap)
            assert len(consumer.consume(written, DEADLINE_SECONDS)) == written
            consumer.close()
        assert len(cluster.records("followed", 0, 1)) == written


def test_a_consumer_in_its_rack_reads_from_a_real_follower(tmp_path: Path) -> None:
    config = {
        "broker.rack": "near",
        "replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector",
    }
    with (
        MockBroker(controller_port=0, config=config) as broker,
        RealBroker(broker, tmp_path, 2, "broker.rack=far"),
    ):
        create(broker, "followed", [[1, 2]])
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "acks": "all"})
        for _ in range(RECORDS):
            replicated(producer)
        told: list[str] = []
        consumer = at_the_beginning(
            broker.bootstrap_servers,
            **{
                "client.rack": "far",
                "statistics.interval.ms": 200,
                "stats_cb": told.append,
            },
        )
        assert len(consumer.consume(RECORDS, DEADLINE_SECONDS)) == RECORDS

        def reads_from_2() -> bool:
            consumer.poll(0.2)
            topics = [json.loads(each)["topics"] for each in told]
            return any(
                one["partitions"]["0"]["broker"] == 2
                for each in topics
                if (one := each.get("followed")) is not None
            )

        until(reads_from_2)
        replicated(producer)
        assert len(consumer.consume(1, DEADLINE_SECONDS)) == 1
        consumer.close()


def create(broker: MockBroker, topic: str, replicas: list[list[int]]) -> None:
    """A topic on these brokers, partition by partition."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    made = admin.create_topics([NewTopic(topic, len(replicas), replica_assignment=replicas)])
    made[topic].result(DEADLINE_SECONDS)


async def reassign(bootstrap: str, topic: str, replicas: list[int]) -> tuple[int, str | None]:
    """Put partition 0 on these brokers; the answer's error and message."""
    asked = ReassignableTopic(topic, [ReassignablePartition(0, replicas)])
    request = AlterPartitionReassignmentsRequest(10_000, topics=[asked])
    async with await RawConnection.open(bootstrap) as connection:
        answer = await connection.call(request, 0, AlterPartitionReassignmentsResponse)
    (partition,) = answer.responses[0].partitions
    return partition.error_code, partition.error_message


def in_sync(broker: MockBroker, topic: str) -> list[int]:
    """The in-sync set of partition 0."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    listed = admin.list_topics(topic, timeout=DEADLINE_SECONDS)
    return sorted(listed.topics[topic].partitions[0].isrs)


def replicated(producer: Producer) -> float:
    """Write one record to partition 0; how many seconds until it was acknowledged."""
    refused: list[object] = []
    began = time.monotonic()
    producer.produce(
        "followed",
        b"v",
        partition=0,
        on_delivery=lambda error, _: refused.append(error) if error else None,
    )
    assert producer.flush(DEADLINE_SECONDS) == 0
    assert refused == []
    return time.monotonic() - began


def at_the_beginning(bootstrap: str, **configs: object) -> Consumer:
    """A reader of all of partition 0, without a group."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "none", **configs})
    consumer.assign([TopicPartition("followed", 0, 0)])
    return consumer


def leaders(bootstrap: str, topic: str) -> dict[int, int]:
    listed = AdminClient({"bootstrap.servers": bootstrap}).list_topics(timeout=DEADLINE_SECONDS)
    found = listed.topics.get(topic)
    return {} if found is None else {index: one.leader for index, one in found.partitions.items()}


def write(bootstrap: str) -> None:
    refused: list[object] = []
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
    for index in range(4 * RECORDS):
        producer.produce(
            "mixed",
            str(index),
            partition=index % 4,
            on_delivery=lambda error, _: refused.append(error) if error else None,
        )
    assert producer.flush(DEADLINE_SECONDS) == 0
    assert refused == []


def read(bootstrap: str) -> int:
    """How many records a group that begins anew gets."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": f"group-of-{bootstrap}",
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe(["mixed"])
    count, deadline = 0, time.monotonic() + DEADLINE_SECONDS
    while count < 2 * 4 * RECORDS and time.monotonic() < deadline:
        message = consumer.poll(0.2)
        count += message is not None and message.error() is None
    consumer.close()
    return count
