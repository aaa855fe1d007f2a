"""Exactly-once loops of four clients on a cluster that fails, for minutes; nothing may be doubled.

    scripts/exactly_once --minutes N [--seed S] [--clients confluent,aiokafka,java,streams]

Three brokers of this process; each client reads a topic of its own, writes to another in the same
transactions as its offsets (Kafka Streams: counts words), while one thing after the other befalls
the cluster: brokers die, stop, are isolated or fenced, replicas and high watermarks are held,
leaders move, in-sync sets shrink, of the topics and of the coordinators' logs alike. A consumer of
committed records checks each as it comes: none twice, none missing, none out of order. A client
that makes no progress for as long as its own time-outs allow is told, with what it said last, and
started anew, as its user would. Ends when all is healed and moved; status 1 if anything was wrong.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from mockbroker import MockBroker
from mockbroker.cluster.actions import ActionError
from mockbroker.cluster.node_controls import ControlError
from scripts.exactly_once_loops import HUNG, PARTITIONS
from tests.clients.java import jvm as java

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from confluent_kafka import Message

ROOT = Path(__file__).resolve().parents[1]
BROKERS = (1, 2, 3)
CLIENTS = ("confluent", "aiokafka", "java", "streams")
WORDS = 20
RECORDS_A_SECOND = 40
"""To each client, over all its partitions."""
FAULT_S = (0.5, 8.0)
REST_S = (1.0, 4.0)
STUCK_S = 150.0
"""Longer than two waits of a client one after the other: max.block.ms is 60 s, of a commit and of
the abort that follows."""
DRAIN_S = 180.0
INTERNAL_PARTITIONS = 4
CONFIG = {
    "default.replication.factor": 3,
    "min.insync.replicas": 2,
    "offsets.topic.num.partitions": INTERNAL_PARTITIONS,
    "transaction.state.log.num.partitions": INTERNAL_PARTITIONS,
    "group.initial.rebalance.delay.ms": 0,
    "group.min.session.timeout.ms": 1000,
    "group.consumer.min.session.timeout.ms": 1000,
    "group.consumer.session.timeout.ms": 6000,
    "group.consumer.min.heartbeat.interval.ms": 500,
    "group.consumer.heartbeat.interval.ms": 1000,
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": 1000,
    "replica.lag.time.max.ms": 3000,
}
INTERNAL = ("__consumer_offsets", "__transaction_state")


class Fault(NamedTuple):
    """What befalls the cluster, and what undoes it."""

    name: str
    undo: Callable[[], None]


class Loop:
    """One client: its topics, its process, what came out of it."""

    def __init__(
        self, client: str, bootstrap: str, folder: Path, tell: Callable[[str], None]
    ) -> None:
        self.client = client
        self.tell = tell
        self.source, self.target = f"{client}-in", f"{client}-out"
        self.said: Counter[str] = Counter()
        self.last = "nothing"
        self.restarts: Counter[str] = Counter()
        self.expected: defaultdict[str, int] = defaultdict(int)
        self.written = self.moved = 0
        self.progress_at = time.monotonic()
        self.longest_s = 0.0
        self.wrong: list[str] = []
        if client == "streams":
            words = [self.source, self.target, "streams-app", str(folder), "6000"]
            self.command = java.command("WordCount", bootstrap, *words)
        else:
            words = [bootstrap, self.source, self.target, f"{client}-loop"]
            module = [sys.executable, "-m", "scripts.exactly_once_loops", client]
            self.command = [*(java.command("ExactlyOnce") if client == "java" else module), *words]
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            self.command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        threading.Thread(target=self._listen, args=[self.process], daemon=True).start()

    def _listen(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            self.last = line.strip()
            if self.client != "streams":
                self.tell(f"{self.client}: {self.last}")
            self.said[self.last] += 1

    def value(self) -> tuple[str, int]:
        """The next record to write: its value and partition."""
        number = self.written
        self.written += 1
        partition = number % PARTITIONS
        if self.client == "streams":
            return f"word{number % WORDS}", partition
        return f"{partition}:{number // PARTITIONS}", partition

    def came_out(self, message: Message) -> None:
        """A committed record of the target: the next one of its partition, or of its word."""
        now = time.monotonic()
        self.longest_s = max(self.longest_s, now - self.progress_at)
        self.progress_at = now
        value, key = (message.value() or b"").decode(), message.key()
        of, _, number = value.rpartition(":") if key is None else (key.decode(), "", value)
        # Streams counts from 1.
        expected = self.expected[of] + (key is not None)
        if int(number) != expected:
            what = "doubled" if int(number) < expected else "missing before it"
            self.wrong.append(f"{of}: {number} where {expected} was due: {what}")
        self.expected[of] = int(number) + (key is None)
        self.moved += 1

    def watch(self) -> bool:
        """Start the process anew when it has ended, or makes no progress; whether it did."""
        now = time.monotonic()
        if self.moved == self.written:
            self.progress_at = now
        status = self.process.poll()
        if status is not None:
            why = self.last if status == HUNG else f"ended with status {status}"
        elif now - self.progress_at > STUCK_S:
            why = f"stuck after: {self.last}"
        else:
            return False
        self.restarts[why] += 1
        self.tell(f"{self.client} is started anew: {why}, {self.moved} of {self.written} moved")
        self.longest_s = max(self.longest_s, now - self.progress_at)
        self.progress_at = now
        self.stop()
        self.start()
        return True

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()

    @property
    def is_stuck(self) -> bool:
        """Whether it hung elsewhere than where librdkafka does on Apache Kafka too."""
        return any("send_offsets_to_transaction" not in why for why in self.restarts)

    def report(self) -> str:
        return (
            f"{self.client}: {self.moved} of {self.written} moved, longest pause "
            f"{self.longest_s:.0f} s, started anew {dict(self.restarts)}, said {dict(self.said)}"
        )


class Trouble:
    """One thing after the other befalls the cluster, as the seed has it."""

    def __init__(self, broker: MockBroker, topics: Sequence[str], seed: int) -> None:
        self.cluster = broker.cluster
        self.random = Random(seed)
        self.topics = [
            *((topic, PARTITIONS) for topic in topics),
            *((one, INTERNAL_PARTITIONS) for one in INTERNAL),
        ]
        self.counts: Counter[str] = Counter()

    def begin(self) -> Fault:
        """Raises ControlError, ActionError, KeyError or LookupError where it cannot be done now."""
        random, cluster = self.random, self.cluster
        topic, partitions = random.choice(self.topics)
        partition, node = random.randrange(partitions), random.choice(BROKERS)
        leader = cluster.leader(topic, partition)
        followers = [one for one in BROKERS if one != leader]
        follower, name = random.choice(followers), random.choice(KINDS)
        where = f"{name} {topic}-{partition}"
        match name:
            case "kill" | "kill unnoticed":
                cluster.kill(node, fence=name == "kill")
                return Fault(f"{name} {node}", lambda: cluster.revive(node))
            case "stop":
                cluster.stop(node)
                return Fault(f"stop {node}", lambda: cluster.revive(node))
            case "isolate":
                cluster.isolate(node)
                return Fault(f"isolate {node}", lambda: cluster.reconnect(node))
            case "fence":
                cluster.fence(node)
                return Fault(f"fence {node}", lambda: cluster.unfence(node))
            case "hold follower":
                cluster.hold_follower(topic, partition, follower)
                return Fault(where, lambda: cluster.release_follower(topic, partition, follower))
            case "hold high watermark":
                cluster.hold_high_watermark(topic, partition)
                return Fault(where, lambda: cluster.release_high_watermark(topic, partition))
            case "shrink":
                cluster.shrink_isr(topic, partition, without=follower)
            case _:
                cluster.move_leader(topic, partition, to=follower)
        return Fault(where, lambda: None)

    def run(self, until: float, tell: Callable[[str], None]) -> None:
        while time.monotonic() < until:
            try:
                fault = self.begin()
            except (ActionError, ControlError, LookupError) as refused:
                tell(f"refused: {refused}")
                continue
            self.counts[fault.name.partition(" ")[0]] += 1
            seconds = self.random.uniform(*FAULT_S)
            tell(f"{fault.name} for {seconds:.1f} s")
            time.sleep(seconds)
            fault.undo()
            time.sleep(self.random.uniform(*REST_S))


KINDS = (
    "kill", "kill unnoticed", "stop", "isolate", "fence", "hold follower", "hold high watermark",
    "shrink", "move",
)  # fmt: skip


class Soak:
    """The cluster, its clients, who writes to them and who reads."""

    def __init__(
        self,
        broker: MockBroker,
        clients: Sequence[str],
        folder: Path,
        tell: Callable[[str], None],
    ) -> None:
        self.broker = broker
        self.tell = tell
        self.bootstrap = broker.bootstrap_servers
        for client in clients:
            for topic in (f"{client}-in", f"{client}-out"):
                broker.topic(topic).create(PARTITIONS, replication_factor=3)
        self.loops = [Loop(client, self.bootstrap, folder, tell) for client in clients]
        self.by_target = {loop.target: loop for loop in self.loops}
        self.writes = self.runs = True
        self.failed: list[str] = []
        self.threads = [threading.Thread(target=work) for work in (self._write, self._read)]
        for thread in self.threads:
            thread.start()

    def _write(self) -> None:
        producer = Producer(
            {
                "bootstrap.servers": self.bootstrap,
                "enable.idempotence": True,
                "message.timeout.ms": 300_000,
                "log_level": 0,
            }
        )

        def delivered(error: KafkaError | None, message: Message) -> None:
            if error is not None:
                self.failed.append(f"a record for {message.topic()}: {error.name()}")

        while self.writes:
            for loop in self.loops:
                value, partition = loop.value()
                producer.produce(loop.source, value, partition=partition, on_delivery=delivered)
            producer.poll(0)
            time.sleep(1 / RECORDS_A_SECOND)
        if producer.flush(DRAIN_S):
            self.failed.append("records that were never acknowledged")

    def _read(self) -> None:
        reader = Consumer(
            {
                "bootstrap.servers": self.bootstrap,
                "group.id": "reader",
                "isolation.level": "read_committed",
                "auto.offset.reset": "error",
                "enable.auto.commit": False,
                "log_level": 0,
            }
        )
        parts = [
            TopicPartition(topic, at, 0) for topic in self.by_target for at in range(PARTITIONS)
        ]
        reader.assign(parts)
        while self.runs:
            for message in reader.consume(500, 0.5):
                error, topic = message.error(), message.topic()
                if error is None:
                    self.by_target[topic or ""].came_out(message)
                elif not error.retriable():
                    self.failed.append(f"the reader: {error.name()}")
            for loop in self.loops:
                if loop.watch():
                    self._tell_state()
        reader.close()

    def _tell_state(self) -> None:
        """What the cluster knows, when a client is stuck."""
        broker = self.broker
        for name in broker.transactions():
            self.tell(f"  {broker.transaction(name).describe()}")
        places = [(topic, at) for topic in self.by_target for at in range(PARTITIONS)]
        places += [(topic, at) for topic in INTERNAL for at in range(INTERNAL_PARTITIONS)]
        for topic, at in places:
            leader, isr = broker.cluster.leader(topic, at), broker.cluster.isr(topic, at)
            self.tell(f"  {topic}-{at}: leader {leader}, in sync {isr}")

    def drain(self) -> None:
        """All is healed: wait until everything has come out, and no more."""
        self.writes = False
        self.threads[0].join()
        deadline = time.monotonic() + DRAIN_S
        while any(loop.moved < loop.written for loop in self.loops):
            if time.monotonic() > deadline:
                break
            time.sleep(0.2)
        time.sleep(2.0)

    def close(self) -> None:
        self.writes = self.runs = False
        for thread in self.threads:
            thread.join()
        for loop in self.loops:
            loop.stop()

    def wrongs(self) -> list[str]:
        found = list(self.failed)
        for loop in self.loops:
            found += [f"{loop.client}: {what}" for what in loop.wrong]
            if loop.moved != loop.written:
                found.append(f"{loop.client}: {loop.moved} of {loop.written} came out")
            if loop.is_stuck:
                found.append(f"{loop.client}: started anew: {dict(loop.restarts)}")
        return found


def run(minutes: float, seed: int, clients: Sequence[str]) -> list[str]:
    """What was wrong, a line each; prints what happens."""
    began = time.monotonic()

    def tell(what: str) -> None:
        print(f"{time.monotonic() - began:7.1f} s  {what}", flush=True)

    with (
        tempfile.TemporaryDirectory() as folder,
        MockBroker(brokers=len(BROKERS), seed=seed, auto_create=False, config=CONFIG) as broker,
    ):
        soak = Soak(broker, clients, Path(folder), tell)
        trouble = Trouble(broker, [*soak.by_target, *(one.source for one in soak.loops)], seed)
        try:
            trouble.run(began + minutes * 60, tell)
            tell(f"healed: {json.dumps(trouble.counts)}")
            soak.drain()
        finally:
            soak.close()
        for loop in soak.loops:
            tell(loop.report())
        return soak.wrongs()


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/exactly_once", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--minutes", type=float, default=2.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--clients", default=",".join(CLIENTS), help=f"of {', '.join(CLIENTS)}")
    arguments = parser.parse_args()
    clients = arguments.clients.split(",")
    if unknown := set(clients) - set(CLIENTS):
        parser.error(f"--clients: {', '.join(sorted(unknown))} is none of {', '.join(CLIENTS)}")
    # So that the loops' processes are ended too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    wrongs = run(arguments.minutes, arguments.seed, clients)
    print(*wrongs or ["nothing doubled, nothing missing, nobody stuck"], sep="\n")
    return bool(wrongs)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KafkaException as failure:
        sys.exit(f"scripts/exactly_once: {failure}")
