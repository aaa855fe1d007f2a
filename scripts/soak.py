"""A soak: everything at once, for minutes or hours, and nothing may grow, fail or be lost.

    python -m scripts.soak --minutes N [--seed S]      work beside hostile connections, so long
    python -m scripts.soak --rounds N [--seed S]       the same, so many rounds of each broker
    python -m scripts.soak --frames N [--seed S]       so many hostile frames, on the core alone
    python -m scripts.soak --costly N [--seed S]       so many that cost, each bounded by its work
    python -m scripts.soak --http N [--seed S]         so many hostile connections to the admin port
    python -m scripts.soak --logins N [--seed S]       so many steps of who tries to get in

Each round works on one of two brokers of this process, one alone and three of a cluster: topics
made and deleted, faults, transactions, groups of both protocols, snapshots and restores, time that
jumps, brokers that die. What was acknowledged must be there, what was aborted must not; after the
reset that ends a round the broker is as it was started. Then objects, memory, descriptors and
threads are counted: those of the last quarter may not be more than 5 % above those of the second.
Run by scripts/fuzz.
"""

from __future__ import annotations

import argparse
import gc
import math
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from random import Random
from statistics import median
from typing import TYPE_CHECKING, NamedTuple, cast

from mockbroker import MockBroker
from mockbroker.journal import Event, HandlerFailed
from mockbroker.state.groups import group_ids
from mockbroker.state.transactions import transactional_ids
from mockbroker_protocol.messages.fetch import FetchResponse
from mockbroker_protocol.messages.produce import (
    ProduceRequest,
    ProduceRequestPartition,
    ProduceRequestTopic,
    ProduceResponse,
)
from mockbroker_protocol.records.batch import build_batch
from mockbroker_protocol.records.record_codec import Record
from scripts.soak_clients import WireCore
from tests.support.blocking import ClosedByPeerError
from tests.support.group_calls import consumer_heartbeat, stable_group
from tests.support.requests import fetch
from tests.support.transactions import GROUP, Transactional

if TYPE_CHECKING:
    from mockbroker.cluster.cluster import Cluster
    from mockbroker.state.snapshot import Snapshot
    from tests.support.core import Core, CoreClient

KEEP = {"retention.ms": "-1"}
GROWTH = 1.05
PAGE = os.sysconf("SC_PAGE_SIZE")


class Size(NamedTuple):
    """What this process holds, counted behind a reset."""

    objects: int
    memory_mb: float
    descriptors: int
    threads: int

    @classmethod
    def now(cls) -> Size:
        gc.collect()
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return cls(
            len(gc.get_objects()),
            round(pages * PAGE / 1e6, 1),
            len(list(Path("/proc/self/fd").iterdir())),
            threading.active_count(),
        )


class Ledger:
    """What a topic must hold, and must not, by its name."""

    def __init__(self) -> None:
        self.kept: dict[str, set[bytes]] = {}
        self.aborted: dict[str, set[bytes]] = {}

    def copy(self) -> Ledger:
        other = Ledger()
        other.kept = {name: set(values) for name, values in self.kept.items()}
        other.aborted = {name: set(values) for name, values in self.aborted.items()}
        return other

    def check(self, broker: MockBroker) -> int:
        """See that nothing is lost; how many records were looked for."""
        for name, kept in self.kept.items():
            topic = broker.topic(name)
            there = {record.value for record in topic.records()}
            assert kept <= there, f"lost in {name}: {sorted(kept - there)[:5]}"
            committed = {record.value for record in topic.records(isolation="read_committed")}
            aborted = self.aborted.get(name, set()) & committed
            assert not aborted, f"aborted, but read in {name}: {sorted(aborted)[:5]}"
        return sum(map(len, self.kept.values()))


class Soaked:
    """One broker, or a cluster, that is worked on round after round."""

    def __init__(self, brokers: int, rng: Random, folder: str) -> None:
        self._rng = rng
        self._file = f"{folder}/state-{brokers}.zip"
        self.failures: list[Event] = []
        self.checked = self.rounds = 0
        topics = {"orders": 3}
        self.broker = MockBroker(brokers=brokers, topics=topics).start()
        self.several = brokers > 1
        self._call(lambda cluster: cluster.journal.listen(self._heard))
        self._started = self._call(self._state)

    @property
    def addresses(self) -> list[str]:
        return self.broker.bootstrap_servers.split(",")

    def round(self) -> None:
        """Work, look, and begin anew."""
        self.rounds += 1
        core = WireCore(self.addresses[0])
        ledger = Ledger()
        try:
            if self.several:
                self._work_on_several(ledger)
            else:
                self._work(core, ledger)
            self.checked += ledger.check(self.broker)
        finally:
            core.close()
        self._end()

    def _end(self) -> None:
        if self._rng.random() < 0.3:
            both = [threading.Thread(target=self.broker.reset) for _ in range(2)]
            for one in both:
                one.start()
            for one in both:
                one.join()
        self.broker.reset()
        if self.several:
            self._wait("orders")
        state = self._call(self._state)
        assert state == self._started, f"{state} after the reset, not {self._started}"
        assert not self.failures, self.failures[0]

    # -- one broker --------------------------------------------------------------------------

    def _work(self, core: WireCore, ledger: Ledger) -> None:
        broker, rng = self.broker, self._rng
        names = [f"soak-{rng.getrandbits(64):x}" for _ in range(rng.randrange(2, 6))]
        for name in names:
            broker.topic(name).create(rng.randrange(1, 4), config=KEEP)
            ledger.kept[name] = set()
        self._arm()
        for name in names:
            self._produce(core, name, ledger)
        broker.faults.clear()
        scripts = cast("Core", core)
        for number in range(rng.randrange(1, 4)):
            self._transact(scripts, f"tx-{number}", rng.choice(names), ledger)
        stable_group(cast("CoreClient", core.client()), f"g-{rng.getrandbits(32):x}")
        consumer_heartbeat(cast("CoreClient", core.client()), "m", topics=names)
        for _ in range(rng.randrange(3)):  # they wait until their connection ends
            core.client().send(fetch(rng.choice(names), 1 << 20, max_wait_ms=60_000), 12)
        core.client().call(fetch(names[0], max_wait_ms=0), 12, FetchResponse)
        self._go_back(core, names, ledger)
        doomed = names.pop()
        broker.topic(doomed).delete()
        del ledger.kept[doomed]
        self._pass_time()

    def _arm(self) -> None:
        rules: list[dict[str, object]] = [
            {"api": "Produce", "error": "NOT_ENOUGH_REPLICAS", "probability": 0.2},
            {"api": "Produce", "disconnect": True, "stage": "after", "probability": 0.1},
            {"api": "Produce", "delay_ms": 2, "probability": 0.3},
            {"api": "Produce", "reset": True, "probability": 0.1},
            {"api": "Produce", "truncate_at": 5, "probability": 0.1},
            {"client": "faulty", "slice_bytes": 7},
        ]
        for rule in self._rng.sample(rules, self._rng.randrange(len(rules))):
            self.broker.faults.add({"client": "faulty", **rule})

    def _produce(self, core: WireCore, name: str, ledger: Ledger) -> None:
        """Plain records; what was not acknowledged may be there or not."""
        client = core.client("faulty")
        for _ in range(self._rng.randrange(5, 40)):
            value = self._rng.randbytes(self._rng.choice((8, 8, 100, 5000)))
            batch = build_batch([Record(0, int(time.time() * 1000), None, value)])
            request = ProduceRequest(
                acks=-1,
                timeout_ms=1000,
                topic_data=[
                    ProduceRequestTopic(
                        name=name, partition_data=[ProduceRequestPartition(0, batch)]
                    )
                ],
            )
            try:
                answer = client.call(request, 9, ProduceResponse)
            except (OSError, ClosedByPeerError):
                client.close()
                client = core.client("faulty")
                continue
            if answer.responses[0].partition_responses[0].error_code == 0:
                ledger.kept[name].add(value)

    def _transact(self, core: Core, transactional_id: str, name: str, ledger: Ledger) -> None:
        producer = Transactional.begin(core, transactional_id, v1=self._rng.random() < 0.3)
        for _ in range(self._rng.randrange(1, 5)):
            value = f"{transactional_id}-{self._rng.getrandbits(64):x}"
            producer.write(name, 0, value)
            commit = self._rng.random() < 0.6
            if commit and self._rng.random() < 0.3:
                assert producer.find("g-of-tx", GROUP) == 0
                assert producer.add_offsets("g-of-tx") == 0
                assert producer.commit_offset("g-of-tx", name, 0, 1) == 0
            producer.finish(commit=commit)
            into = ledger.kept if commit else ledger.aborted
            into.setdefault(name, set()).add(value.encode())
        if self._rng.random() < 0.5:
            producer.write(name, 0, f"open-{self._rng.getrandbits(64):x}")

    def _go_back(self, core: WireCore, names: list[str], ledger: Ledger) -> None:
        """Take a snapshot, go on, and restore it, as a value or from its file."""
        before = ledger.copy()
        on_disk = self._rng.random() < 0.5
        snapshot: Snapshot = self.broker.snapshot(self._file if on_disk else None)
        if self._rng.random() < 0.5:
            return
        self._produce(core, self._rng.choice(names), ledger)
        self.broker.restore(self._file if on_disk else snapshot)
        ledger.kept, ledger.aborted = before.kept, before.aborted

    def _pass_time(self) -> None:
        clock = self.broker.clock
        with suppress(ValueError):
            clock.advance(self._rng.choice((0.1, 5.0, 60.0, 3600.0)))

    # -- a cluster ---------------------------------------------------------------------------

    def _work_on_several(self, ledger: Ledger) -> None:
        broker, rng, cluster = self.broker, self._rng, self.broker.cluster
        name = f"soak-{rng.getrandbits(64):x}"
        topic = broker.topic(name).create(rng.randrange(1, 4), config=KEEP)
        ledger.kept[name] = set()
        self._put(name, ledger)
        self._wait(name)
        victim = rng.choice(cluster.brokers)
        kind = rng.randrange(4)
        if kind == 0:
            cluster.kill(victim)
            self._put(name, ledger)
            cluster.revive(victim)
        elif kind == 1:
            cluster.stop(victim)
            self._put(name, ledger)
            cluster.revive(victim)
        elif kind == 2:
            cluster.isolate(victim)
            cluster.reconnect(victim)
        else:
            cluster.move_leader(name, 0, to=victim)
        self._wait(name)
        self._put(name, ledger)
        self._wait(name)
        if rng.random() < 0.3:
            self.broker.restore(self.broker.snapshot())
        if rng.random() < 0.3:
            ledger.check(broker)
            topic.delete()
            del ledger.kept[name]

    def _wait(self, name: str) -> None:
        """Until all replicas of a topic are in sync."""
        topic, cluster = self.broker.topic(name), self.broker.cluster
        for partition in range(topic.partitions):
            cluster.wait_in_sync(name, partition, timeout=TIMEOUT)

    def _put(self, name: str, ledger: Ledger) -> None:
        values = [self._rng.randbytes(16) for _ in range(self._rng.randrange(1, 30))]
        topic = self.broker.topic(name)
        topic.put_all(values)
        ledger.kept[name].update(values)
        topic.wait_for(len(ledger.kept[name]), timeout=TIMEOUT)  # they are replicated

    # -- looking -----------------------------------------------------------------------------

    def _call(self, action: object) -> object:
        return self.broker._bridged().call(action)  # type: ignore[arg-type] # noqa: SLF001

    @staticmethod
    def _state(cluster: Cluster) -> tuple[object, ...]:
        """What a reset promises, without what strangers make of the coordinators' topics."""
        topics = {
            topic.name: len(topic.partitions)
            for topic in cluster.metadata.topics.values()
            if not topic.internal
        }
        alive = [one.node_id for one in cluster.metadata.alive_brokers()]
        faults = [rule.id for rule in cluster.faults.list()] if cluster.has_faults else []
        return topics, group_ids(cluster), transactional_ids(cluster), faults, alive

    def _heard(self, event: Event) -> None:
        if isinstance(event, HandlerFailed):
            self.failures.append(event)


TIMEOUT = 60.0


def soak(seconds: float, rounds: float, seed: int) -> None:
    """Until either is over. Raise AssertionError for what was lost, failed or grew."""
    rng = Random(seed)
    sizes: list[Size] = []
    until = time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as folder:
        soaked = [Soaked(1, rng, folder), Soaked(3, rng, folder)]
        ports = [each.rpartition(":")[2] for one in soaked for each in one.addresses]
        stranger = subprocess.Popen(
            [sys.executable, "-m", "scripts.soak_clients", str(seed), *ports]
        )
        told = time.monotonic()
        types: Counter[str] | None = None
        try:
            while time.monotonic() < until and len(sizes) < rounds:
                for one in soaked:
                    one.round()
                sizes.append(Size.now())
                if types is None and len(sizes) == 20:
                    types = _types()
                if time.monotonic() > told:
                    told += 60
                    print(f"{_rounds(soaked)} {sizes[-1]}", flush=True)
            assert stranger.poll() is None, "the hostile process ended"
            if types is not None:
                for name, count in (_types() - types).most_common(8):
                    print(f"  {count:+} {name} since the twentieth round")
        finally:
            stranger.kill()
            stranger.wait()
            for one in soaked:
                one.broker.stop()
    print(f"{_rounds(soaked)}; {_refused(soaked)}")
    _check_growth(sizes)


def _rounds(soaked: list[Soaked]) -> str:
    rounds, checked = sum(one.rounds for one in soaked), sum(one.checked for one in soaked)
    return f"{rounds} rounds, {checked} acknowledged records found again"


def _refused(soaked: list[Soaked]) -> str:
    return f"{sum(len(one.failures) for one in soaked)} failed handlers"


def _types() -> Counter[str]:
    return Counter(type(one).__qualname__ for one in gc.get_objects())


def _check_growth(sizes: list[Size]) -> None:
    quarter = len(sizes) // 4
    if quarter < 5:
        print("too few rounds to tell growth")
        return
    early, late = sizes[quarter : 2 * quarter], sizes[-quarter:]
    for at, name in enumerate(Size._fields):
        before, after = (median(size[at] for size in part) for part in (early, late))
        print(f"{name}: {before} in the second quarter, {after} in the last")
        assert after <= before * GROWTH, f"{name} grew from {before} to {after}"


def frames(count: int, seed: int) -> None:
    """Raise AssertionError when a hostile frame fails a handler or troubles a neighbour."""
    from tests.support.hostile import HostileRun, hostile_bytes, seeds

    rng, requests = Random(seed), list(seeds())
    began, sent, strangers = time.monotonic(), 0, 0
    while sent < count:
        run = HostileRun()
        for _ in range(2000):
            run.send(hostile_bytes(rng, requests))
        sent += 2000
        run.check()
        strangers += run.strangers
    took = time.monotonic() - began
    print(f"{sent} hostile frames on {strangers} connections in {took:.0f} s, no handler failed")


def costly(count: int, seed: int) -> None:
    """Raise AssertionError when a frame that was chosen to cost takes more work than it may."""
    from tests.support.work_counts import WorkRun, costly_bytes

    rng, run, began, turns = Random(seed), WorkRun(), time.monotonic(), 0
    for _ in range(count):
        name, data = costly_bytes(rng)
        try:
            run.send(name, data)
        except AssertionError as error:
            raise AssertionError(f"{name}, {len(data)} bytes: {error}") from error
        turns += len(run.turns)
    took = time.monotonic() - began
    print(f"{count} costly frames in {turns} turns in {took:.0f} s, none took more than it may")


def http(count: int, seed: int) -> None:
    """Raise AssertionError when the admin port fails, or a neighbour is not served."""
    from tests.support.hostile_http import HostileHttp

    began = time.monotonic()
    with HostileHttp(Random(seed)) as run:
        run.send(count)
    took = time.monotonic() - began
    told = ", ".join(f"{status}: {times}" for status, times in sorted(run.statuses.items()))
    print(f"{count} hostile connections to the admin port in {took:.0f} s, none failed ({told})")


def logins(count: int, seed: int) -> None:
    """Raise AssertionError when an intruder gets in, is told or changes anything.

    Half of the steps are his who may log in as somebody else, half are of one who knows nobody.
    """
    from tests.support.intruder import Intruder

    began = time.monotonic()
    runs = [Intruder(Random(f"{seed}/{knows}"), knows_bob=knows) for knows in (True, False)]
    for run in runs:
        for number in range(count // 2):
            run.step()
            if number % 1000 == 0:
                run.check()
        run.check()
    took = time.monotonic() - began
    told = ", ".join(
        f"{sum(getattr(run, what) for run in runs)} {name}"
        for what, name in (
            ("visits", "connections"),
            ("failed", "logins failed"),
            ("entered", "were right"),
            ("answers", "answers"),
        )
    )
    print(f"{count} steps of an intruder in {took:.0f} s, none got him in ({told})")


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/fuzz")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--minutes", type=float)
    what.add_argument("--rounds", type=int)
    what.add_argument("--frames", type=int)
    what.add_argument("--costly", type=int)
    what.add_argument("--http", type=int)
    what.add_argument("--logins", type=int)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.frames is not None:
        frames(arguments.frames, arguments.seed)
    elif arguments.costly is not None:
        costly(arguments.costly, arguments.seed)
    elif arguments.http is not None:
        http(arguments.http, arguments.seed)
    elif arguments.logins is not None:
        logins(arguments.logins, arguments.seed)
    elif arguments.rounds is not None:
        soak(math.inf, arguments.rounds, arguments.seed)
    else:
        soak(arguments.minutes * 60, math.inf, arguments.seed)


if __name__ == "__main__":
    main()
