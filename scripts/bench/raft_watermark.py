"""How soon an observer of the metadata log knows that its high watermark has moved (KIP-1166).

    scripts/bench/hwm --raft [--rounds N] [--markdown]

Kafka's own raft client (4.3.1, `java/RaftObserver.java`) follows our metadata log, once with a
controller that serves Fetch up to v17, as before KIP-1166, and once up to v18. Each round appends a
record whose commit is held back; the observer fetches it and waits again at the log's end; then,
after a random part of its 500 ms wait, the commit is let go. What is measured is the time from
there until the observer's client knows, on the clock of the machine.
"""

from __future__ import annotations

import random
import subprocess
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from mockbroker.testing.mock_broker import MockBroker
from scripts.bench import peers
from scripts.bench.wire import java_libs

if TYPE_CHECKING:
    from collections.abc import Iterator

START_SECONDS: Final = 60
WAIT_MS: Final = 500
"""Kafka: KafkaRaftClient.MAX_FETCH_WAIT_MS."""
OBSERVER_ID: Final = "1000"


class Observer:
    """The Java client as a process; its lines say what it sees."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        self._lines = process.stdout

    def wait_for(self, high_watermark: int) -> int:
        """When it knew of that high watermark: microseconds since 1970."""
        for line in self._lines:
            kind, *rest = line.split()
            if kind == "hw" and int(rest[0]) >= high_watermark:
                return int(rest[1])
        raise RuntimeError("the observer has ended; its standard error says why")


@contextmanager
def observing(broker: MockBroker) -> Iterator[Observer]:
    """An observer that follows the broker's metadata log."""
    assert broker.controller_servers is not None
    source = str(peers.ROOT / "scripts/bench/java/RaftObserver.java")
    logging = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"
    command = ["java", "-Xmx128m", logging, "-cp", f"{java_libs()}/*", source]
    with subprocess.Popen(
        [*command, broker.controller_servers, broker.cluster_id, OBSERVER_ID],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield Observer(process)
        finally:
            process.terminate()


def measure(fetch_version: int, rounds: int, seed: int = 1) -> list[float]:
    """Milliseconds from each commit to the observer's knowledge of it."""
    rng = random.Random(seed)
    config = {
        "mockbroker.controller.fetch.max.version": str(fetch_version),
        "metadata.max.idle.interval.ms": "0",
    }
    delays: list[float] = []
    with MockBroker(controller_port=0, config=config) as broker, observing(broker) as observer:
        log = broker.metadata_log
        log.wait_for_observer(START_SECONDS)
        for _ in range(rounds):
            log.hold_commits()
            offset = log.append_no_op()
            log.wait_for_observer()
            time.sleep(rng.uniform(0, 0.9 * WAIT_MS / 1000))
            committed = time.time_ns() // 1000
            log.release_commits()
            delays.append((observer.wait_for(offset + 1) - committed) / 1000)
    return delays


def row(fetch_version: int, delays: list[float]) -> list[str]:
    """The distribution as cells: fetch version, rounds, then milliseconds."""
    ordered = sorted(delays)
    count = len(ordered)
    quantiles = [ordered[min(count - 1, int(part * count))] for part in (0, 0.5, 0.9, 0.99)]
    figures = [*quantiles, ordered[-1]]
    return [f"v{fetch_version}", str(count), *(f"{figure:.1f}" for figure in figures)]


HEADER: Final = ["Fetch", "rounds", "least ms", "median", "p90", "p99", "most"]


def run(rounds: int, *, markdown: bool) -> None:
    """Measure both versions and print a table."""
    rows = [HEADER, *(row(version, measure(version, rounds)) for version in (17, 18))]
    if markdown:
        rows.insert(1, ["---"] * len(HEADER))
        print("\n".join("| " + " | ".join(cells) + " |" for cells in rows))
        return
    for cells in rows:
        print("  ".join(cell.rjust(8) for cell in cells))
