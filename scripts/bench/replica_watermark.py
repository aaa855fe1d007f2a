"""How soon the followers of a partition know that its high watermark has moved (KIP-1166).

    scripts/bench/hwm [--rounds N] [--markdown]

Three brokers and one partition with three replicas, once with followers that fetch by v17 and once
by v18. Each round appends a batch while the high watermark is held back; both followers fetch it
and wait again at the log's end; then, after a random part of their 500 ms wait, the high watermark
is let go. What is measured is the time from its move on the leader to its move on each follower, as
the journal tells them: on virtual time, where nothing else takes any, and on the machine's clock.
What an idle cluster sends is counted in fetches, exactly on virtual time.
"""

from __future__ import annotations

import asyncio
import random
import time
from random import Random
from typing import TYPE_CHECKING, Final

from mockbroker.cluster.cluster import Cluster
from mockbroker.journal import HighWatermarkMoved
from mockbroker.log.results import AppendOrigin
from mockbroker.server.launch import launch
from mockbroker.server.settings import Settings
from mockbroker_protocol.api_keys import ApiKey
from mockbroker_protocol.records.batch import build_batch
from mockbroker_protocol.records.record_codec import Record

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker.journal import Event
    from mockbroker.replica.partition import Partition

TOPIC: Final = "t"
WAIT_MS: Final = 500
"""replica.fetch.wait.max.ms"""
REPLICAS: Final = 3
EPOCH_MS: Final = 1_700_000_000_000
IDLE_VIRTUAL_SECONDS: Final = 3600
IDLE_REAL_SECONDS: Final = 5
VERSIONS: Final = (17, 18)


class Moves:
    """When each broker's high watermark moved last, by a clock in milliseconds."""

    def __init__(self, cluster: Cluster, now_ms: Callable[[], float]) -> None:
        self._now_ms = now_ms
        self.at_ms: dict[int, float] = {}
        self.all_know: Callable[[], None] | None = None
        cluster.journal.listen(self._moved, high_watermarks=True)

    def _moved(self, event: Event) -> None:
        if isinstance(event, HighWatermarkMoved) and event.topic == TOPIC:
            self.at_ms[event.broker_id] = self._now_ms()
            if self.complete and self.all_know is not None:
                self.all_know()

    @property
    def complete(self) -> bool:
        return len(self.at_ms) == REPLICAS

    def delays(self, leader: int) -> list[float]:
        """Milliseconds from the leader's move to each follower's."""
        moved_ms = self.at_ms[leader]
        return [at_ms - moved_ms for node, at_ms in self.at_ms.items() if node != leader]


def leader_of(cluster: Cluster) -> Partition:
    broker = cluster.broker(cluster.metadata.topics[TOPIC].partitions[0].leader)
    assert broker is not None
    found = broker.services.replicas.partition(TOPIC, 0)
    assert found is not None
    return found


def append_held(cluster: Cluster) -> None:
    """Append a batch that stays above the high watermark."""
    cluster.controls.hold_high_watermark(TOPIC, 0)
    batch = build_batch([Record(0, EPOCH_MS, None, b"value")])
    leader_of(cluster).append_batch(batch, AppendOrigin.CLIENT)


def release(cluster: Cluster) -> None:
    cluster.controls.release_high_watermark(TOPIC, 0)


def fetches(cluster: Cluster) -> int:
    """How many Fetch requests the brokers have served."""
    apis = (broker.registry.get(ApiKey.FETCH) for broker in cluster.brokers)
    return sum(api.requests for api in apis if api is not None)


class Virtual:
    """The cluster on virtual time."""

    def __init__(self, version: int) -> None:
        self.now_ms = 0.0
        self.cluster = Cluster(
            {}, {TOPIC: 1}, substream=Random, epoch_ms=EPOCH_MS, brokers=REPLICAS
        )
        self.moves = Moves(self.cluster, lambda: self.now_ms)
        self.act(lambda cluster: cluster.controls.tell_high_watermark(version >= 18))
        self.advance(2 * WAIT_MS)

    def act(self, action: Callable[[Cluster], None]) -> None:
        self.cluster.set_time(self.now_ms)
        action(self.cluster)
        self.cluster.drain(self.now_ms)

    def advance(self, milliseconds: float) -> None:
        end_ms = self.now_ms + milliseconds
        while (deadline := self.cluster.next_deadline()) is not None and deadline <= end_ms:
            self.now_ms = max(self.now_ms, deadline)
            self.cluster.tick(self.now_ms)
        self.now_ms = end_ms
        self.cluster.tick(end_ms)

    def delays(self, rng: random.Random) -> list[float]:
        """One round."""
        self.act(append_held)
        self.advance(rng.uniform(0, WAIT_MS))
        self.moves.at_ms.clear()
        self.act(release)
        while not self.moves.complete:
            deadline = self.cluster.next_deadline()
            assert deadline is not None
            self.now_ms = max(self.now_ms, deadline)
            self.cluster.tick(self.now_ms)
        return self.moves.delays(leader_of(self.cluster).leader_id)


def virtual(version: int, rounds: int) -> tuple[list[float], int]:
    """The delays, and the fetches of an idle hour."""
    rng = random.Random(1)
    world = Virtual(version)
    delays = [delay for _ in range(rounds) for delay in world.delays(rng)]
    world.advance(2 * WAIT_MS)
    before = fetches(world.cluster)
    world.advance(IDLE_VIRTUAL_SECONDS * 1000)
    return delays, fetches(world.cluster) - before


async def real(version: int, rounds: int) -> tuple[list[float], int]:
    """The delays, and the fetches of some idle seconds."""
    rng = random.Random(1)
    running = await launch(Settings(brokers=REPLICAS, port=0, topics={TOPIC: 1}))
    try:
        moves = Moves(running.cluster, lambda: time.perf_counter() * 1000)
        running.act(lambda cluster: cluster.controls.tell_high_watermark(version >= 18))
        await asyncio.sleep(2 * WAIT_MS / 1000)
        delays: list[float] = []
        for _ in range(rounds):
            running.act(append_held)
            await asyncio.sleep(rng.uniform(0, 0.9 * WAIT_MS / 1000))
            moves.at_ms.clear()
            known = asyncio.Event()
            moves.all_know = known.set
            running.act(release)
            await known.wait()
            delays += moves.delays(leader_of(running.cluster).leader_id)
        await asyncio.sleep(2 * WAIT_MS / 1000)
        before = running.act(fetches)
        await asyncio.sleep(IDLE_REAL_SECONDS)
        return delays, running.act(fetches) - before
    finally:
        await running.stop()


def cells(clock: str, version: int, delays: list[float], idle: str) -> list[str]:
    """The distribution as a row: its milliseconds have as many places as its clock."""
    ordered = sorted(delays)
    last = len(ordered) - 1
    figures = [ordered[min(last, int(part * len(ordered)))] for part in (0.5, 0.9, 0.99)]
    shown = [f"{figure:.3f}" for figure in (*figures, ordered[-1])]
    return [clock, f"v{version}", str(len(ordered)), *shown, idle]


HEADER: Final = ["clock", "Fetch", "moves", "p50 ms", "p90", "p99", "most", "idle fetches"]


def run(rounds: int, *, markdown: bool) -> None:
    """Measure both versions on both clocks and print a table."""
    rows = [HEADER]
    for version in VERSIONS:
        delays, idle = virtual(version, rounds)
        rows.append(cells("virtual", version, delays, f"{idle} an hour"))
    for version in VERSIONS:
        delays, idle = asyncio.run(real(version, rounds))
        rows.append(cells("real", version, delays, f"{idle} in {IDLE_REAL_SECONDS} s"))
    if markdown:
        rows.insert(1, ["---"] * len(HEADER))
        print("\n".join("| " + " | ".join(row) + " |" for row in rows))
        return
    for row in rows:
        print("  ".join(cell.rjust(8) for cell in row))
