"""Start-up: from exec to the first ApiVersions answer, ours beside kfake and Apache Kafka.

    scripts/bench/start [--runs N]

Prints milliseconds, median of the runs with the smallest and the largest. In-process is a
`MockBroker()`, as one of many tests has it, after one before: until it is ready, until its first
answer, and until it is gone; each run is the median of 20 in a process. A process finds the
bytecode of its modules where an installation leaves it.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from typing import TYPE_CHECKING, NamedTuple

from scripts.bench import peers

if TYPE_CHECKING:
    from collections.abc import Callable

_IN_PROCESS = """
import statistics
import time
from mockbroker import MockBroker
from scripts.bench.peers import answers
lives = []
for _ in range(21):
    begin = time.perf_counter()
    with MockBroker() as broker:
        ready = time.perf_counter()
        assert answers(broker.bootstrap_servers)
        answered = time.perf_counter()
    gone = time.perf_counter()
    lives.append([(end - begin) * 1000 for end in (ready, answered, gone)])
print(*map(statistics.median, zip(*lives[1:])))
"""


class InProcess(NamedTuple):
    """Milliseconds from the call of `MockBroker()`."""

    ready: float
    answered: float
    gone: float


def time_process(name: str) -> float:
    """Milliseconds from exec to the first ApiVersions answer."""
    port = peers.free_port()
    begin = time.perf_counter()
    process = subprocess.Popen(
        peers.command_for(name, port),
        cwd=peers.ROOT,
        env=_environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        while not peers.answers(f"127.0.0.1:{port}"):
            time.sleep(0.0005)
        return (time.perf_counter() - begin) * 1000
    finally:
        process.terminate()
        process.wait(10)


def time_kafka() -> float:
    """Milliseconds that the start script takes until Apache Kafka answers."""
    begin = time.perf_counter()
    with peers.run_peer("kafka"):
        return (time.perf_counter() - begin) * 1000


def time_in_process() -> InProcess:
    """A broker's life, where there were others before."""
    command = [sys.executable, "-c", _IN_PROCESS]
    done = subprocess.run(command, cwd=peers.ROOT, capture_output=True, text=True, check=True)
    return InProcess(*map(float, done.stdout.split()))


def _environment() -> dict[str, str]:
    """Without what keeps Python from writing bytecode, which an installation has."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=10, help="runs of each (default 10)")
    runs = parser.parse_args().runs
    names = peers.available()
    timers: dict[str, Callable[[], float]] = {
        "mockbroker, process": lambda: time_process("mockbroker"),
    }
    if "kfake" in names:
        peers.build_go()
        timers["kfake, process"] = lambda: time_process("kfake")
    results: dict[str, list[float]] = {}
    lives = [time_in_process() for _ in range(runs)]
    for at, name in enumerate(InProcess._fields):
        values = [life[at] for life in lives]
        results[f"mockbroker, in-process: {name}"] = values
    results |= {name: [] for name in timers}
    for _ in range(runs):
        for name, timer in timers.items():
            results[name].append(timer())
    if "kafka" in names:
        results["Apache Kafka, process"] = [time_kafka() for _ in range(min(runs, 3))]
    print(f"{'':34}{'median ms':>10}{'min':>10}{'max':>10}")
    for name, values in results.items():
        middle = statistics.median(values)
        print(f"{name:34}{middle:10.1f}{min(values):10.1f}{max(values):10.1f}")


if __name__ == "__main__":
    main()
