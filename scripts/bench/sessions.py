"""Fetch sessions of 100 to 100,000 partitions: ours beside kfake and Apache Kafka, in one run.

    scripts/bench/sessions [--rounds N] [--peers mockbroker,kfake,kafka] [--core-only]

First the core alone, without sockets: microseconds a poll, partitions looked at, bytes kept a
cached partition. Then each peer over TCP, from one Go load generator: a session is opened, polled
idle, and polled after one append to a random partition each; medians over rounds of the medians of
a round. Making the topics is not measured. Apache Kafka gets the sizes that a small heap bears.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import statistics
import time
import tracemalloc
from random import Random
from typing import TYPE_CHECKING

from scripts.bench import peers
from scripts.bench.core_driver import CoreDriver, fetch_frame

if TYPE_CHECKING:
    from collections.abc import Sequence

SIZES = (100, 2_000, 10_000, 100_000)
LARGEST = {"mockbroker": 100_000, "compiled": 100_000, "kfake": 100_000, "kafka": 2_000}
TOPIC_PARTITIONS = 10_000
WEIGHED = 100_000
"""From this size on a session's memory stands out from what a process has to spare."""
MAX_RATIO, MAX_POLL_US, MAX_OPEN_MS, MAX_BYTES_EACH = 1.5, 150.0, 800.0, 400.0


# -- the core alone --------------------------------------------------------------------------


class CoreSession:
    """One session of the core, driven as a client would."""

    def __init__(self, partitions: int) -> None:
        self.size = partitions
        self.driver = CoreDriver()
        each = min(partitions, TOPIC_PARTITIONS)
        self.topics = {
            self.driver.create_topic(f"t{number}", each): f"t{number}"
            for number in range(partitions // each)
        }
        self.full = {topic_id: [(index, 0) for index in range(each)] for topic_id in self.topics}
        self.driver.connect(1)
        self.session_id = self.epoch = 0
        self.rng = Random(partitions)

    def open(self) -> float:
        """Open the session; milliseconds of processor time from frame to answer."""
        frame = fetch_frame(self.full, epoch=0)
        begin = time.process_time()
        self.driver.send(1, frame)
        answer = self.driver.answers()[1]
        elapsed = time.process_time() - begin
        self.session_id = int.from_bytes(answer[15:19], "big")
        assert self.session_id
        self.epoch = 1
        return elapsed * 1e3

    def poll(self, topics: dict[bytes, list[tuple[int, int]]]) -> tuple[float, int, int]:
        """One incremental poll: microseconds, partitions looked at, bytes answered."""
        frame = fetch_frame(topics, session_id=self.session_id, epoch=self.epoch)
        manager = self.driver.services.fetch
        before = manager.partitions_looked_at
        begin = time.perf_counter()
        self.driver.send(1, frame)
        answer = self.driver.answers()[1]
        elapsed = time.perf_counter() - begin
        self.epoch += 1
        return elapsed * 1e6, manager.partitions_looked_at - before, len(answer)

    def poll_changed(self, count: int) -> list[tuple[float, int, int]]:
        """Append to a random partition, then poll; the poll after names it at its new offset."""
        found = []
        topic_ids = list(self.full)
        advanced: dict[bytes, list[tuple[int, int]]] = {}
        for _ in range(count):
            topic_id = self.rng.choice(topic_ids)
            index = self.rng.randrange(len(self.full[topic_id]))
            end = self.driver.append(self.topics[topic_id], index)
            found.append(self.poll(advanced))
            advanced = {topic_id: [(index, end)]}
        return found


def core_figures(partitions: int, polls: int) -> dict[str, float]:
    """Every figure of the core for one size."""
    session = CoreSession(partitions)
    opened = statistics.median(session.open() for _ in range(3))
    gc.collect()
    idle = [session.poll({}) for _ in range(polls)]
    changed = session.poll_changed(polls)
    changed_us, looked_at, _ = zip(*changed[1:], strict=True)
    return {
        "open CPU ms": opened,
        "idle poll us": statistics.median(us for us, _, _ in idle),
        "looked at, idle": max(looked for _, looked, _ in idle[1:]),
        "one-change poll us": statistics.median(changed_us),
        "looked at, one change": max(looked_at),
        "bytes kept each": kept_bytes(partitions),
    }


def kept_bytes(partitions: int) -> float:
    """Bytes that an open session keeps for each partition, as Python's allocator counts them."""
    session = CoreSession(partitions)
    session.open()
    session.driver.cluster.brokers[0].services.fetch.cache.remove(session.session_id)
    gc.collect()
    tracemalloc.start()
    session.open()
    session.poll({})
    gc.collect()
    kept = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return kept / partitions


def show_core(polls: int) -> None:
    """The table of the core, and whether its goals are met."""
    columns = {size: core_figures(size, polls) for size in SIZES}
    print(f"{'the core, without sockets':28}" + "".join(f"{size:>12,}" for size in SIZES))
    for row in columns[SIZES[0]]:
        print(f"{row:28}" + "".join(f"{columns[size][row]:12,.1f}" for size in SIZES))
    first, last = columns[SIZES[0]], columns[SIZES[-1]]
    for row in ("idle poll us", "one-change poll us"):
        judge(f"{row}, largest to smallest", last[row] / first[row], MAX_RATIO, "x")
    judge("bytes kept each, largest", last["bytes kept each"], MAX_BYTES_EACH, "")


def judge(what: str, value: float, limit: float, unit: str) -> None:
    """One goal, and whether it is met."""
    verdict = "met" if value <= limit else "MISSED"
    print(f"  {what}: {value:,.2f}{unit} (goal {limit:g}{unit}: {verdict})")


# -- over TCP --------------------------------------------------------------------------------


def polls_of(name: str, size: int) -> int:
    """Enough for a median, few enough where a poll costs the session's size."""
    return 2000 if name in {"mockbroker", "compiled"} else min(2000, max(20, 1_000_000 // size))


Figures = dict[tuple[str, int], list[dict[str, float]]]


def run(names: Sequence[str], rounds: int) -> Figures:
    """The samples by peer and size; a warm-up round is not among them."""
    samples: Figures = {}
    with contextlib.ExitStack() as stack:
        running = [stack.enter_context(peers.run_peer(name)) for name in names]
        for number in range(rounds + 1):
            for peer in running:
                for size in SIZES:
                    if size > LARGEST[peer.name]:
                        continue
                    peers.note(f"round {number} of {rounds}: {peer.name}, {size:,} partitions")
                    polls = polls_of(peer.name, size)
                    options = {"partitions": size, "count": polls, "changes": polls}
                    if peer.name == "mockbroker" and size >= WEIGHED:
                        options["pid"] = peer.pid
                    found = peers.load(peer, "sessions", **options)
                    if number:
                        samples.setdefault((peer.name, size), []).append(found)
    return samples


ROWS = (
    ("open ms", "open_ms"),
    ("idle poll us", "idle_us"),
    ("one-change poll us", "change_us"),
    ("resident bytes each", "next_bytes_each"),
)


def show(samples: Figures) -> None:
    """The table, ours as a ratio to each peer of the same size, and the goals."""
    medians = {
        key: {
            field: statistics.median(sample.get(field, float("nan")) for sample in found)
            for _, field in ROWS
        }
        for key, found in samples.items()
    }
    print(f"{'over TCP':24}{'partitions':>12}" + "".join(f"{row:>22}" for row, _ in ROWS))
    for (name, size), figures in sorted(medians.items()):
        ours = medians.get(("mockbroker", size))
        line = f"{name:24}{size:12,}"
        for _, field in ROWS:
            value = figures[field]
            cell = "" if value != value else f"{value:,.1f}"  # noqa: PLR0124 - NaN: not measured
            if cell and ours is not None and name != "mockbroker":
                cell += f" ({value / ours[field]:.2f}x)"
            line += f"{cell:>22}"
        print(line)
    print("In brackets: the peer's figure as a multiple of ours.")
    smallest, largest = medians.get(("mockbroker", 100)), medians.get(("mockbroker", 100_000))
    if smallest is None or largest is None:
        return
    for row, field in ROWS[1:3]:
        judge(f"{row}, 100,000 to 100", largest[field] / smallest[field], MAX_RATIO, "x")
        judge(f"{row}, 100,000", largest[field], MAX_POLL_US, " us")
    judge("open 100,000", largest["open_ms"], MAX_OPEN_MS, " ms")
    judge("resident bytes each, 100,000", largest["next_bytes_each"], MAX_BYTES_EACH, "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=3, help="rounds over TCP (default 3)")
    parser.add_argument("--polls", type=int, default=2000, help="polls of the core (default 2000)")
    parser.add_argument("--peers", default=",".join(peers.PEERS), help="which, with commas")
    parser.add_argument("--core-only", action="store_true", help="leave TCP out")
    options = parser.parse_args()
    show_core(options.polls)
    if options.core_only:
        return
    peers.build_go()
    wanted = options.peers.split(",")
    show(run([name for name in peers.available() if name in wanted], options.rounds))


if __name__ == "__main__":
    main()
