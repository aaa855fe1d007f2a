"""All figures of docs/performance.md in one run, as Markdown: ours beside kfake and Apache Kafka.

    scripts/bench/all [--rounds N] [--rows GLOB] [--write]
                      [--peers echo,mockbroker,compiled,journal,spin,kfake,kafka]

Each round measures every row with every peer in turn, so that the machine's noise falls on all
alike. A cell is the median over the rounds; the ratios are ours, compiled where that was built,
against each peer of the same round: the median, and the smallest and the largest. Above 1 is better
for us. `echo` is a bare event loop that sends requests back (`echo.py`): the limit of its rows.
`journal` and `spin` are ours, compiled where that was built, with `--journal` and `--spin 200`.
Processor time is what the peer's process took for a request; other work of the machine leaves it as
it is, nearly. `--write` puts the table into docs/performance.md.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import platform
import statistics
import subprocess
import tempfile
import time
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from scripts.bench import groups, peers, sessions, start

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

PAGE: Final = peers.ROOT / "docs" / "performance.md"
BEGIN: Final = "<!-- scripts/bench/all --write: begin -->"
END: Final = "<!-- scripts/bench/all --write: end -->"
OURS: Final = ("mockbroker", "compiled", "journal", "spin")
SPIN_US: Final = 200
REST_SECONDS: Final = 0.3
ALL: Final = ("echo", *OURS, "kfake", "kafka")
SESSION_SIZES: Final = (100, 10_000, 100_000)

MORE_PAIRS: Final = (("journal", "compiled"), ("spin", "echo"), ("spin", "kfake"))
"""Ratios that are told beside those of ours to each other peer."""

Figures = dict[str, float]


class Row(NamedTuple):
    """A scenario for a peer; `figures` are what it tells, and in which direction is better."""

    name: str
    figures: dict[str, str]
    measure: Callable[[peers.Peer, str], Figures]
    only: Sequence[str] = ALL


def requests(name: str, api: str, count: int, **options: int) -> Row:
    """Requests of one API a second, and the processor time of each."""
    cost = f"{name}, CPU µs"
    rate = f"{name}, /s"

    def measure(peer: peers.Peer, tag: str) -> Figures:
        more: dict[str, object] = {"partitions": 1, **options}
        done = peers.load(peer, "requests", topic=f"{api}-{tag}", api=api, count=count, **more)
        return {rate: done["per_s"], cost: done["cpu_s"] / done["requests"] * 1e6}

    return Row(name, {rate: "higher", cost: "lower"}, measure)


def _scenario(
    name: str, scenario: str, figures: dict[str, tuple[str, str]], **options: object
) -> Row:
    """A scenario of the load generator: each figure by the field that tells it."""

    def measure(peer: peers.Peer, tag: str) -> Figures:
        done = peers.load(peer, scenario, topic=f"{scenario}-{tag}", **options)
        return {figure: done[field] for figure, (field, _) in figures.items()}

    better = {figure: direction for figure, (_, direction) in figures.items()}
    return Row(name, better, measure, [peer for peer in ALL if peer != "echo"])


def _bulk(batches: int) -> Row:
    def measure(peer: peers.Peer, tag: str) -> Figures:
        topic = f"bulk-{tag}"
        produced = peers.load(peer, "produce", topic=topic, batches=batches)
        consumed = peers.load(peer, "consume", topic=topic, batches=batches)
        return {"produce MB/s": produced["mb_per_s"], "consume MB/s": consumed["mb_per_s"]}

    figures = {"produce MB/s": "higher", "consume MB/s": "higher"}
    return Row("bulk", figures, measure, [peer for peer in ALL if peer != "echo"])


def _session(size: int) -> Row:
    figures = {
        f"session of {size:,}: open ms": ("open_ms", "lower"),
        f"session of {size:,}: idle poll µs": ("idle_us", "lower"),
        f"session of {size:,}: poll with one change µs": ("change_us", "lower"),
    }
    name = f"session {size}"

    def measure(peer: peers.Peer, _tag: str) -> Figures:
        polls = sessions.polls_of(peer.name, size)
        row = _scenario(name, "sessions", figures, partitions=size, count=polls, changes=polls)
        return row.measure(peer, str(size))

    better = {figure: direction for figure, (_, direction) in figures.items()}
    whose = [each for each in (*OURS, "kfake", "kafka") if size <= sessions.LARGEST.get(each, 0)]
    return Row(name, better, measure, whose)


def _group(members: int) -> Row:
    name = f"{members} members of KIP-848 have records, s"

    def measure(peer: peers.Peer, _tag: str) -> Figures:
        took = groups.measure(peer.address, "consumer", members)
        return {} if took is None else {name: took}

    return Row("group", {name: "lower"}, measure, ("mockbroker", "compiled", "kfake", "kafka"))


def _start() -> Row:
    figures = {
        "ready as a process, ms": "lower",
        "ready in process, ms": "lower",
        "first answer in process, ms": "lower",
        "a broker's whole life in process, ms": "lower",
    }

    def measure(peer: peers.Peer, _tag: str) -> Figures:
        found = {"ready as a process, ms": start.time_process(peer.name)}
        if peer.name == "mockbroker":
            found |= zip(list(figures)[1:], start.time_in_process(), strict=True)
        return found

    return Row("start", figures, measure, ("mockbroker", "kfake"))


ROWS: Final = (
    requests("Fetch, 1 in flight", "fetch", 10_000),
    requests("Produce, 1 in flight", "produce", 10_000),
    requests("Metadata, 1 in flight", "metadata", 10_000),
    requests("empty Fetch, 64 in flight", "fetch", 60_000, depth=64),
    requests("empty Fetch, 8 connections", "fetch", 40_000, conns=8),
    requests("Fetch of 1 KiB, 64 in flight", "read", 60_000, depth=64, size=1024),
    requests("Produce, 64 in flight", "produce", 40_000, depth=64),
    requests("Produce, 8 connections", "produce", 30_000, conns=8),
    requests("Metadata, 64 in flight", "metadata", 30_000, depth=64),
    requests("Produce to 100 partitions", "produce", 1_000, partitions=100),
    requests("Produce to 1,000 partitions", "produce", 100, partitions=1000),
    requests("Fetch from 100 partitions", "read", 1_000, partitions=100),
    requests("Fetch from 1,000 partitions", "read", 100, partitions=1000),
    _bulk(300),
    _scenario(
        "pingpong",
        "pingpong",
        {"ping-pong p50 ms": ("p50_ms", "lower"), "ping-pong p99 ms": ("p99_ms", "lower")},
        count=1000,
    ),
    _scenario(
        "parked",
        "parked",
        {"ack of an append that wakes 2,000, ms": ("ack_ms", "lower")},
        conns=2000,
    ),
    *map(_session, SESSION_SIZES),
    _group(50),
    _start(),
)


# -- the run ---------------------------------------------------------------------------------


@contextlib.contextmanager
def run_peer(name: str) -> Iterator[peers.Peer]:
    """A peer of `peers`, or one of our own."""
    build = "compiled" if (peers.COMPILED / ".built").exists() else "mockbroker"
    if name in {"journal", "spin"}:
        with tempfile.TemporaryDirectory() as folder:
            options = ["--journal", folder] if name == "journal" else ["--spin", str(SPIN_US)]
            with peers.run_ours(options, build) as found:
                yield peers.Peer(name, found.address, found.pid)
    else:
        with peers.run_peer(name) as found:
            yield found


def _try(row: Row, peer: peers.Peer, tag: str) -> Figures:
    """The row's figures; none where the peer did not manage it, which is told."""
    try:
        return row.measure(peer, tag)
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        peers.note(f"{peer.name}: {row.name}: {error}")
        return {}


def _let_rest(peer: peers.Peer) -> None:
    """Wait until no process that the peer has started works: who makes a journal's lines is behind.

    What is measured next would have that beside it.
    """
    tasks = Path(f"/proc/{peer.pid}/task").glob("*/children")
    children = [int(pid) for task in tasks for pid in task.read_text().split()]
    before, now = -1.0, 0.0
    while children and before != now:
        time.sleep(REST_SECONDS)
        before, now = now, sum(peers.Peer("", "", pid).cpu_seconds() for pid in children)


Samples = dict[tuple[str, str], list[float]]


def run(names: Sequence[str], rows: Sequence[Row], rounds: int) -> Samples:
    """What each round told, by figure and peer; a round in which a peer failed has NaN."""
    samples: Samples = {}
    with contextlib.ExitStack() as stack:
        running = [stack.enter_context(run_peer(name)) for name in names]
        for peer in running:
            if peer.name != "echo":
                samples["idle memory, MB", peer.name] = [peer.resident_mb()]
        for number in range(rounds):
            for row in rows:
                peers.note(f"round {number + 1} of {rounds}: {row.name}")
                for peer in running:
                    if peer.name in row.only:
                        found = _try(row, peer, f"{rows.index(row)}-{number}")
                        _let_rest(peer)
                        for figure in row.figures:
                            value = found.get(figure, math.nan)
                            samples.setdefault((figure, peer.name), []).append(value)
    return samples


# -- the table -------------------------------------------------------------------------------


def table(names: Sequence[str], rows: Sequence[Row], samples: Samples) -> str:
    """The figures as Markdown: a column a peer, and the ratios of ours to each of the others."""
    ours = "compiled" if "compiled" in names else "mockbroker"
    pairs = [(ours, name) for name in names if name not in {ours, "journal", "spin"}]
    pairs += [pair for pair in MORE_PAIRS if set(pair) <= {*names}]
    better = {figure: way for row in rows for figure, way in row.figures.items()}
    better["idle memory, MB"] = "lower"
    lines = [
        "| | " + " | ".join([*names, *(f"{one} to {other}" for one, other in pairs)]) + " |",
        "|---" * (1 + len(names) + len(pairs)) + "|",
    ]
    for figure, way in better.items():
        cells = [_median(samples.get((figure, name), [])) for name in names]
        cells += [
            ratio(samples.get((figure, one), []), samples.get((figure, other), []), way)
            for one, other in pairs
        ]
        lines.append(f"| {figure} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _median(values: Sequence[float]) -> str:
    known = [value for value in values if not math.isnan(value)]
    if not known:
        return "–"
    middle = statistics.median(known)
    return f"{middle:,.0f}" if middle >= 100 else f"{middle:.2f}"


def ratio(ours: Sequence[float], theirs: Sequence[float], way: str) -> str:
    """The median of the rounds, the smallest and the largest; above 1 is better for us."""
    found = sorted(
        mine / other if way == "higher" else other / mine
        for mine, other in zip(ours, theirs, strict=False)
        if mine > 0 and other > 0
    )
    if not found:
        return "–"
    spread = f" ({found[0]:.2f}–{found[-1]:.2f})" if len(found) > 1 else ""
    return f"{statistics.median(found):.2f}{spread}"


def machine() -> str:
    """What the figures are of."""
    model = platform.processor() or platform.machine()
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    load = os.getloadavg()[0]
    release = platform.release().partition("-")[0]
    return (
        f"{model}, {os.cpu_count()} processors, {platform.system()} {release}, "
        f"CPython {platform.python_version()}, load {load:.1f} before the run"
    )


def write(text: str) -> None:
    """Put the table between its marks on the page."""
    page = PAGE.read_text("utf-8")
    before, _, rest = page.partition(BEGIN)
    _, mark, after = rest.partition(END)
    if not mark:
        raise SystemExit(f"{PAGE}: no {BEGIN} and {END} in it")
    PAGE.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}", "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=5, help="rounds (default 5)")
    parser.add_argument(
        "--rows",
        default="*",
        help="which, by a pattern of names as '*1,000 partitions' (default all)",
    )
    parser.add_argument("--peers", default=",".join(ALL), help="which, with commas")
    parser.add_argument("--write", action="store_true", help="put it into docs/performance.md")
    options = parser.parse_args()
    rows = [row for row in ROWS if fnmatchcase(row.name, options.rows)]
    if not rows:
        there = "\n".join(f"  {row.name}" for row in ROWS)
        parser.error(f"--rows {options.rows}: no row has such a name; they are\n{there}")
    peers.build_go()
    able = ["echo", "journal", "spin", *peers.available()]
    wanted = options.peers.split(",")
    names = [name for name in ALL if name in able and name in wanted]
    about = machine()
    found = table(names, rows, run(names, rows, options.rounds))
    rounds = "one round" if options.rounds == 1 else f"medians of {options.rounds} rounds"
    text = f"{about}; {rounds}, all peers in turn.\n\n{found}"
    print(text)
    if options.write:
        write(text)


if __name__ == "__main__":
    main()
