"""Kafka Streams counts words with exactly_once_v2 while one of its two instances is killed.

Nothing is cached, so each word's counts go out one by one: a word that occurs n times must bring
1 to n, each once and in order, whoever counted and however often a transaction was given up.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import confluent_kafka
import pytest
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from tests.clients.java import jvm as java
from tests.clients.server import serving

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = [pytest.mark.java, pytest.mark.timeout(240)]

PARTITIONS = 4
WORDS = [f"word{number}" for number in range(20)]
LINES = 400
DEADLINE_S = 90.0
SESSION_TIMEOUT_MS = 4_000
# Sooner than they would: who died is missed, and what it left open is aborted.
SETTINGS = {
    "group.min.session.timeout.ms": "1000",
    "group.initial.rebalance.delay.ms": "0",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
}


@pytest.fixture
def bootstrap(tmp_path: Path) -> Iterator[str]:
    running = os.environ.get("MOCKBROKER_TEST_BOOTSTRAP")
    if running:
        yield running
        return
    options = [word for name, value in SETTINGS.items() for word in ("--set", f"{name}={value}")]
    with serving(tmp_path, *options) as address:
        yield address


class Counting:
    """The topics of a run, what went in, and what came out."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.bootstrap = bootstrap
        self.source, self.target = f"{topic}-lines", f"{topic}-counts"
        admin = AdminClient({"bootstrap.servers": bootstrap})
        topics = [NewTopic(name, PARTITIONS, 1) for name in (self.source, self.target)]
        for created in admin.create_topics(topics).values():
            created.result(DEADLINE_S)
        self.producer = confluent_kafka.Producer({"bootstrap.servers": bootstrap})
        self.occurred: defaultdict[str, int] = defaultdict(int)
        self.counts: defaultdict[str, list[int]] = defaultdict(list)
        self.lines = 0
        self.reader = confluent_kafka.Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": f"{topic}-reader",
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
            }
        )
        self.reader.assign(
            [confluent_kafka.TopicPartition(self.target, index, 0) for index in range(PARTITIONS)]
        )

    def say(self, lines: int) -> None:
        """More lines, of words in turn."""
        for _ in range(lines):
            words = [WORDS[(self.lines * step) % len(WORDS)] for step in (1, 3, 7)]
            self.producer.produce(self.source, " ".join(words), partition=self.lines % PARTITIONS)
            self.lines += 1
            for word in words:
                self.occurred[word] += 1
        assert self.producer.flush(DEADLINE_S) == 0

    def counted(self) -> int:
        return sum(map(len, self.counts.values()))

    def read(self, until: Callable[[], bool]) -> None:
        deadline = time.monotonic() + DEADLINE_S
        while not until():
            assert time.monotonic() < deadline, f"{self.counted()} of {3 * self.lines} counted"
            self.take(1.0)

    def take(self, timeout_s: float) -> None:
        for message in self.reader.consume(500, timeout=timeout_s):
            found: Any = message
            assert found.error() is None, found.error()
            self.counts[found.key().decode()].append(int(found.value()))


def shares(bootstrap: str, application: str) -> list[int]:
    """How many partitions each member of the application's group has."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    group: Any = admin.describe_consumer_groups([application])[application].result(DEADLINE_S)
    return [len(member.assignment.topic_partitions) for member in group.members]


def await_running(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        if line.strip() == "RUNNING":
            return
        assert "ERROR" not in line, line
    pytest.fail(f"an instance ended with status {process.wait(10)}")


def test_words_are_counted_exactly_once(bootstrap: str, topic: str, tmp_path: Path) -> None:
    counting = Counting(bootstrap, topic)
    with ExitStack() as running:
        counting.say(LINES)
        instances = []
        application = f"{topic}-app"
        for name in ("first", "second"):
            arguments = [counting.source, counting.target, application, str(tmp_path / name)]
            process = running.enter_context(
                java.start("WordCount", bootstrap, *arguments, str(SESSION_TIMEOUT_MS))
            )
            running.callback(process.kill)
            await_running(process)
            instances.append(process)
        counting.say(LINES)
        counting.read(lambda: counting.counted() > 3 * LINES)
        # Each has its source partitions, and as many of the counted words.
        assert shares(bootstrap, application) == [PARTITIONS, PARTITIONS]
        counting.say(LINES)
        counting.take(0.1)
        instances[0].kill()
        counting.say(LINES)
        assert counting.counted() < 3 * counting.lines, "nothing was left to do"
        counting.read(lambda: counting.counted() >= 3 * counting.lines)
        counting.take(1.0)
    counting.reader.close()
    assert dict(counting.counts) == {
        word: list(range(1, count + 1)) for word, count in counting.occurred.items()
    }
