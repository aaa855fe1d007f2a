"""Apache Kafka's own raft client, and a whole broker of it, follow our metadata log.

The client is that of `scripts/bench/java/RaftObserver.java`; the broker is told where our
controller listens and nothing else. Both run beside the test as processes of their own.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from mockbroker.testing.mock_broker import MockBroker
from scripts.bench.raft_watermark import observing
from scripts.bench.wire import java_libs
from tests.clients.server import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(240)]
DEADLINE_SECONDS = 120.0
RECORDS = 25


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
        real_broker(broker, tmp_path) as real,
    ):
        admin = AdminClient({"bootstrap.servers": real})
        until(lambda: len(leaders(real, "a")) == 1)
        admin.create_topics([NewTopic("mixed", 4, 1)])["mixed"].result(DEADLINE_SECONDS)
        until(lambda: len(leaders(real, "mixed")) == 4)
        assert leaders(real, "mixed") == leaders(broker.bootstrap_servers, "mixed")
        assert set(leaders(real, "mixed").values()) == {1, 2}
        for bootstrap in (broker.bootstrap_servers, real):
            write(bootstrap)
        assert read(broker.bootstrap_servers) == read(real) == 2 * 4 * RECORDS


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


@contextmanager
def real_broker(broker: MockBroker, folder: Path) -> Iterator[str]:
    """Node 2, a broker alone, whose controller is ours; where it listens, once it serves."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    properties = folder / "server.properties"
    properties.write_text(
        "process.roles=broker\n"
        "node.id=2\n"
        f"controller.quorum.bootstrap.servers={broker.controller_servers}\n"
        f"listeners=PLAINTEXT://{address}\n"
        "controller.listener.names=CONTROLLER\n"
        f"log.dirs={folder / 'data'}\n"
        "offsets.topic.replication.factor=1\n"
    )
    java = ["java", "-Xmx400m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"]
    java += ["-cp", f"{java_libs()}/*"]
    formatting = ["format", "--cluster-id", broker.cluster_id, "--config", str(properties)]
    subprocess.run([*java, "kafka.tools.StorageTool", *formatting], check=True, env=os.environ)
    log = folder / "log"
    with (
        log.open("wb") as output,
        subprocess.Popen(
            [*java, "kafka.Kafka", str(properties)], stdout=output, stderr=output
        ) as process,
    ):
        try:
            until(lambda: serves(broker, process, log))
            yield address
        finally:
            process.terminate()
            process.wait(DEADLINE_SECONDS)


def serves(broker: MockBroker, process: subprocess.Popen[bytes], log: Path) -> bool:
    """Whether clients of ours are told of it: it is registered, caught up and unfenced."""
    assert process.poll() is None, log.read_text()
    known = AdminClient({"bootstrap.servers": broker.bootstrap_servers}).list_topics(timeout=10)
    return 2 in known.brokers


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not condition():
        assert time.monotonic() < deadline
