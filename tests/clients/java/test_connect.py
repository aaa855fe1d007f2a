"""Kafka Connect and MirrorMaker: workers of a group, transactions of a source, copies of a cluster.

A worker keeps its configs, offsets and states in compacted topics, shares its tasks by a group
protocol of its own (`sessioned`), fences its tasks by transactional ids and alters offsets by the
admin client: a client unlike those that services have.
"""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections import Counter
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.error import URLError
from urllib.request import Request, urlopen

import pytest

from mockbroker import MockBroker
from tests.clients.java import jvm as java
from tests.support.free_ports import free_ports

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from mockbroker.state.reading import Record

pytestmark = [pytest.mark.java, pytest.mark.timeout(300)]

DEADLINE_S = 120.0
PAUSE_S = 0.2
MAINS = {
    "connect": "org.apache.kafka.connect.cli.ConnectDistributed",
    "mirror": "org.apache.kafka.connect.mirror.MirrorMaker",
}
WORKER = {
    "group.id": "workers",
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "value.converter": "org.apache.kafka.connect.storage.StringConverter",
    "offset.flush.interval.ms": 500,
    "plugin.discovery": "service_load",
    "exactly.once.source.support": "enabled",
    "scheduled.rebalance.max.delay.ms": 0,
    "session.timeout.ms": 6000,
    "heartbeat.interval.ms": 1000,
}
TOPIC = "lines"


class Worker:
    """The REST side of a worker's process."""

    def __init__(self, process: subprocess.Popen[str], port: int) -> None:
        self.process = process
        self.address = f"http://127.0.0.1:{port}"

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """What it answers; None while it cannot: it starts, or its group changes."""
        assert self.process.poll() is None, f"the worker ended with status {self.process.poll()}"
        data = None if body is None else json.dumps(body).encode()
        request = Request(self.address + path, data, method=method)
        request.add_header("Content-Type", "application/json")
        try:
            with urlopen(request, timeout=DEADLINE_S) as answer:
                return json.loads(answer.read() or b"true")
        except (URLError, ConnectionError):
            return None

    def put(self, connector: str, config: Mapping[str, object]) -> None:
        """Make a connector, or give it another config."""
        until(lambda: self.ask("PUT", f"/connectors/{connector}/config", config))

    def states(self, connector: str) -> list[tuple[str, str]]:
        """The state of each task, and which worker has it."""
        told = self.ask("GET", f"/connectors/{connector}/status") or {"tasks": []}
        return [(task["state"], task["worker_id"]) for task in told["tasks"]]

    def has_running(self, connector: str) -> bool:
        return [state for state, _ in self.states(connector)] == ["RUNNING"]


def until(condition: Callable[[], Any]) -> Any:
    """What it says when it says something; between two looks others have the processor."""
    deadline = time.monotonic() + DEADLINE_S
    while not (found := condition()):
        assert time.monotonic() < deadline
        threading.Event().wait(PAUSE_S)
    return found


@contextmanager
def worker(kind: str, folder: Path, config: Mapping[str, object]) -> Iterator[Worker]:
    """A process of its own; it is killed in the end."""
    (port,) = free_ports(1)
    file = folder / f"{kind}-{port}.properties"
    listed = {**config, "listeners": f"http://127.0.0.1:{port}"}
    file.write_text("".join(f"{name}={value}\n" for name, value in listed.items()))
    with java.start(MAINS[kind], str(file)) as process:
        try:
            yield Worker(process, port)
        finally:
            process.kill()


class Lines:
    """The file that a source follows, and the one that a sink writes."""

    def __init__(self, folder: Path) -> None:
        self.source, self.sink = folder / "in.txt", folder / "out.txt"
        self.said = 0

    def connect(self, worker: Worker) -> None:
        """A source that writes by transactions, and a sink that reads what is committed."""
        source = {"connector.class": "FileStreamSource", "topic": TOPIC, "file": str(self.source)}
        worker.put("source", source | {"exactly.once.support": "required"})
        sink = {"connector.class": "FileStreamSink", "topics": TOPIC, "file": str(self.sink)}
        committed = {"consumer.override.isolation.level": "read_committed"}
        worker.put("sink", sink | committed)
        until(lambda: worker.has_running("source") and worker.has_running("sink"))

    def say(self, lines: int = 300) -> None:
        with self.source.open("a") as file:
            file.writelines(f"{number}\n" for number in range(self.said, self.said + lines))
        self.said += lines

    def have_come(self) -> bool:
        """To the sink; some more than once, where a task began anew behind its last commit."""
        return set(self.read()) == set(range(self.said))

    def read(self) -> list[int]:
        text = self.sink.read_text() if self.sink.exists() else ""
        return [int(line) for line in text[: text.rfind("\n") + 1].split()]


def shared(broker: MockBroker, replicas: int) -> dict[str, object]:
    """The config of workers that share this broker, and keep what they know in its topics."""
    found: dict[str, object] = {**WORKER, "bootstrap.servers": broker.bootstrap_servers}
    for what in ("config", "offset", "status"):
        found[f"{what}.storage.topic"] = f"workers-{what}"
        found[f"{what}.storage.replication.factor"] = replicas
    return found


def mirror(origin: MockBroker, target: MockBroker) -> dict[str, object]:
    """MirrorMaker, as often as it can."""
    one_replica = (
        *("replication.factor", "checkpoints.topic.replication.factor"),
        *("heartbeats.topic.replication.factor", "offset-syncs.topic.replication.factor"),
        *("offset.storage.replication.factor", "status.storage.replication.factor"),
        "config.storage.replication.factor",
    )
    return {
        "clusters": "a, b",
        "a.bootstrap.servers": origin.bootstrap_servers,
        "b.bootstrap.servers": target.bootstrap_servers,
        "a->b.enabled": "true",
        "a->b.topics": "orders",
        "b->a.enabled": "false",
        "sync.group.offsets.enabled": "true",
        "offset.lag.max": 0,
        **dict.fromkeys(
            ("emit.checkpoints.interval.seconds", "sync.group.offsets.interval.seconds"), 1
        ),
        "dedicated.mode.enable.internal.rest": "true",
        **dict.fromkeys(one_replica, 1),
    }


def told(record: Record) -> tuple[object, ...]:
    """What a copy has of a record."""
    return (
        record.partition,
        record.offset,
        record.timestamp,
        record.key,
        record.value,
        record.headers,
    )


def test_each_line_is_sent_once_whoever_fails(tmp_path: Path) -> None:
    """A leader moves, a broker dies, then the worker of the source."""
    lines = Lines(tmp_path)
    with (
        MockBroker(brokers=3, topics={TOPIC: 2}) as broker,
        worker("connect", tmp_path, shared(broker, replicas=3)) as one,
        worker("connect", tmp_path, shared(broker, replicas=3)) as other,
    ):
        lines.say()
        lines.connect(one)
        until(lines.have_come)
        for topic in (TOPIC, "workers-config", "workers-offset"):
            leader = broker.cluster.leader(topic, 0)
            broker.cluster.move_leader(topic, 0, to=leader % 3 + 1)
        lines.say()
        until(lines.have_come)
        dead = broker.cluster.coordinator("workers")
        broker.cluster.kill(dead)
        lines.say()
        until(lines.have_come)
        broker.cluster.revive(dead)
        workers = {one.address: (one, other), other.address: (other, one)}
        ((_, of_source),) = until(lambda: one.states("source"))
        lost, left = workers[f"http://{of_source}"]
        lost.process.kill()
        lines.say()
        until(lines.have_come)
        until(lambda: left.states("source") == [("RUNNING", left.address.removeprefix("http://"))])
        records = broker.topic(TOPIC).records(isolation="read_committed")
    assert sorted(int(record.value or b"") for record in records) == list(range(lines.said))


def test_the_offsets_of_connectors_are_altered_and_reset(tmp_path: Path) -> None:
    """Those of a sink are its group's, those of a source are in a topic of the workers."""
    lines = Lines(tmp_path)
    with (
        MockBroker(topics={TOPIC: 1}) as broker,
        worker("connect", tmp_path, shared(broker, replicas=1)) as one,
    ):
        lines.say()
        lines.connect(one)
        until(lines.have_come)
        for connector in ("source", "sink"):
            until(partial(one.ask, "PUT", f"/connectors/{connector}/stop"))
        until(lambda: not one.states("source") and not one.states("sink"))
        place = {"kafka_topic": TOPIC, "kafka_partition": 0}
        there = {"partition": place, "offset": {"kafka_offset": lines.said - 10}}
        assert until(lambda: one.ask("PATCH", "/connectors/sink/offsets", {"offsets": [there]}))
        assert broker.group("connect-sink").committed() == {(TOPIC, 0): lines.said - 10}
        assert until(lambda: one.ask("DELETE", "/connectors/source/offsets"))
        assert until(lambda: one.ask("GET", "/connectors/source/offsets")) == {"offsets": []}
        lines.sink.unlink()
        for connector in ("source", "sink"):
            until(partial(one.ask, "PUT", f"/connectors/{connector}/resume"))
        until(lambda: len(lines.read()) == 10 + lines.said)


def test_a_cluster_is_mirrored(tmp_path: Path) -> None:
    """Records as they were, the configs of their topic, and where a group goes on."""
    with (
        MockBroker() as origin,
        MockBroker() as target,
    ):
        config = {"retention.ms": "86400000", "cleanup.policy": "compact"}
        orders = origin.topic("orders").create(2, config=config)
        orders.put_all(map(str, range(100)), key=lambda value: f"k{value}", headers={"from": "a"})
        ends = Counter(record.partition for record in orders.records())
        origin.group("shop").commit({("orders", at): end for at, end in ends.items()})
        copied = target.topic("a.orders")
        with worker("mirror", tmp_path, mirror(origin, target)):
            copied.wait_for(100, timeout=DEADLINE_S)
            there = {("a.orders", at): end for at, end in ends.items()}
            assert target.group("shop").wait_committed(there, DEADLINE_S) == there
        assert [told(record) for record in copied.records()] == [
            told(record) for record in orders.records()
        ]
        assert config.items() <= copied.config.items()
