"""Parked fetches: what it costs to park, wake, expire and cancel one, among few and many.

    scripts/bench/purgatory [--parked N] [--conns N] [--peers mockbroker,kfake,kafka] [--core-only]

First the core alone with 1,000 and with N (100,000) connections, a parked fetch on each: processor
time in microseconds an operation, then how often the timer and the watch lists were touched for
it. A fetch is parked, woken and answered as bytes; only sockets are missing. Then over TCP with
1,000 sockets, ours beside kfake and Apache Kafka: wall time of all, divided by their number.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import time
from typing import TYPE_CHECKING

from scripts.bench import peers
from scripts.bench.core_driver import CoreDriver, fetch_frame
from tests.support.operation_counts import counting

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable

FEW = 1_000
MAX_WAIT_MS = 30_000
ARRIVALS_PER_MS = 100
"""So many fetches arrive, and later expire, in one millisecond."""
TOPIC = "t"
COUNTED = ("timer buckets", "heap pushes", "heap entries moved", "watch lists")


class ParkedFetches:
    """A core with `count` connections. Each watches its own partition, or all the same one."""

    def __init__(self, count: int, *, shared: bool) -> None:
        self.driver = CoreDriver()
        self.count = count
        self.shared = shared
        self.topic_id = self.driver.create_topic(TOPIC, 1 if shared else count)
        self.ends = [0] * (1 if shared else count)
        for connection_id in range(count):
            self.driver.connect(connection_id)
        self.frames = self.frames_at_ends()

    def frames_at_ends(self) -> list[bytes]:
        """The next fetch of each connection."""
        return [
            fetch_frame({self.topic_id: [(index, self.ends[index])]}, max_wait_ms=MAX_WAIT_MS)
            for index in ([0] * self.count if self.shared else range(self.count))
        ]

    def park(self) -> None:
        """Send a fetch on each connection; time goes on meanwhile."""
        driver = self.driver
        start_ms = driver.now_ms
        for number, frame in enumerate(self.frames):
            driver.now_ms = start_ms + number // ARRIVALS_PER_MS
            driver.send(number, frame)
        assert self.parked == self.count

    @property
    def parked(self) -> int:
        return self.driver.services.replicas.fetch_purgatory.num_delayed_operations

    def wake(self) -> None:
        """Append to each partition that is watched: an append wakes one, or all."""
        for index in range(len(self.ends)):
            self.ends[index] = self.driver.append(TOPIC, index)
        self._answered()

    def expire(self) -> None:
        """Let all deadlines pass, tick by tick as a shell would."""
        driver = self.driver
        while (deadline := driver.broker.next_deadline()) is not None:
            driver.now_ms = deadline
            driver.broker.tick(deadline)
        self._answered()

    def cancel(self) -> None:
        """Disconnect each connection."""
        for connection_id in range(self.count):
            self.driver.broker.disconnect(connection_id, self.driver.now_ms)

    def _answered(self) -> None:
        assert len(self.driver.answers()) == self.count
        assert self.parked == 0


def core_figures(count: int) -> tuple[dict[str, float], dict[str, Counter[str]]]:
    """Microseconds by operation, and what the purgatory and the timer did for all of them."""
    times: dict[str, float] = {}
    counts: dict[str, Counter[str]] = {}

    def measure(name: str, action: Callable[[], None]) -> None:
        begin = time.process_time()
        action()
        times[name] = (time.process_time() - begin) / count * 1e6

    for counted in (False, True):
        own, shared = ParkedFetches(count, shared=False), ParkedFetches(count, shared=True)

        def step(name: str, room: ParkedFetches, action: Callable[[], None]) -> None:
            if not counted:  # noqa: B023 - called in this round only
                measure(name, action)
                return
            services = room.driver.services
            with counting(services.timer, services.replicas.fetch_purgatory) as counts[name]:
                action()

        step("park", own, own.park)
        step("wake, an append each", own, own.wake)
        own.frames = own.frames_at_ends()
        own.park()
        step("expire", own, own.expire)
        own.park()
        step("cancel by disconnect", own, own.cancel)
        shared.park()
        step("wake, one append for all", shared, shared.wake)
    return times, counts


def show_core(sizes: list[int]) -> None:
    """Both tables of the core."""
    found = {size: core_figures(size) for size in sizes}
    header = f"{'the core, without sockets':28}"
    print(header + "".join(f"{f'{size:,} parked, us':>20}" for size in sizes) + f"{'ratio':>8}")
    for name in found[sizes[0]][0]:
        values = [found[size][0][name] for size in sizes]
        line = f"{name:28}" + "".join(f"{value:20.2f}" for value in values)
        print(line + f"{values[-1] / values[0]:8.2f}")
    for size in sizes:
        print(f"{f'touches each, {size:,} parked':28}" + "".join(f"{c:>20}" for c in COUNTED))
        for name, counts in found[size][1].items():
            print(f"{name:28}" + "".join(f"{counts[c] / size:20.3f}" for c in COUNTED))


ROWS = (
    ("park", "park_us"),
    ("wake, one append for all", "wake_us"),
    ("expire, lateness", "expire_late_us"),
    ("cancel by disconnect", "cancel_us"),
)


def show_sockets(names: list[str], conns: int, rounds: int) -> None:
    """The table over TCP."""
    samples: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    with contextlib.ExitStack() as stack:
        running = [stack.enter_context(peers.run_peer(name)) for name in names]
        for number in range(rounds + 1):
            for peer in running:
                peers.note(f"round {number} of {rounds}: {peer.name}")
                found = peers.load(peer, "parked", topic=f"parked-{number}", conns=conns)
                if number:
                    samples[peer.name].append(found)
    print(f"{f'over TCP, {conns:,} sockets':28}" + "".join(f"{f'{n}, us':>20}" for n in names))
    for row, field in ROWS:
        medians = [statistics.median(sample[field] for sample in samples[name]) for name in names]
        print(f"{row:28}" + "".join(f"{value:20.2f}" for value in medians))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--parked", type=int, default=100_000, help="in the core (100000)")
    parser.add_argument("--conns", type=int, default=1_000, help="sockets over TCP (1000)")
    parser.add_argument("--rounds", type=int, default=3, help="rounds over TCP (default 3)")
    parser.add_argument("--peers", default=",".join(peers.PEERS), help="which, with commas")
    parser.add_argument("--core-only", action="store_true", help="leave TCP out")
    options = parser.parse_args()
    show_core([FEW, options.parked])
    if options.core_only:
        return
    peers.build_go()
    wanted = options.peers.split(",")
    names = [name for name in peers.available() if name in wanted]
    show_sockets(names, options.conns, options.rounds)


if __name__ == "__main__":
    main()
