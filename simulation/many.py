"""Many seeds, in one process or several: a line of progress, and in the end what came of them."""

from __future__ import annotations

import gc
import sys
from collections import Counter
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context
from time import monotonic, process_time
from typing import TYPE_CHECKING, NamedTuple

from simulation.seeds import BrokerSeed, ClusterSeed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from simulation.coverages import RoomCoverage

TELL_EVERY_S = 0.5
TELL_A_FILE_EVERY_S = 10.0


class Outcome(NamedTuple):
    """One seed: what it did, the kinds that it had on, and why it failed, if it did."""

    seed: int
    counts: Mapping[str, int]
    kinds: list[str]
    failure: str | None
    cpu_s: float


def run_one(seed: int, *, cluster: bool) -> Outcome:
    """Run a seed, and leave nothing of it but this."""
    began_s = process_time()
    with _frozen():
        counts, kinds, failure = _run(seed, cluster)
        # It is a circle as large as a cluster, and nobody looks for one while the next runs.
        gc.collect()
    return Outcome(seed, counts, kinds, failure, process_time() - began_s)


@contextmanager
def _frozen() -> Iterator[None]:
    """What is there already is twice what a run leaves: it is not looked through for that."""
    is_frozen = gc.get_freeze_count() > 0
    if not is_frozen:
        gc.freeze()
    try:
        yield
    finally:
        if not is_frozen:
            gc.unfreeze()


def _run(seed: int, cluster: bool) -> tuple[Mapping[str, int], list[str], str | None]:
    """What it raises is a failure as a broken rule is."""
    made = ClusterSeed(seed) if cluster else BrokerSeed(seed)
    counts: Mapping[str, int] = {}
    failure = None
    try:
        report = made.report()
        counts = report.counts
        failure = report.explain() if report.failed else None
    except Exception as error:  # noqa: BLE001 - whatever it raises is the finding
        failure = "\n".join((*getattr(error, "__notes__", ()), f"{type(error).__name__}: {error}"))
    return counts, made.kinds(), failure


def run_seeds(
    seeds: range,
    *,
    cluster: bool = False,
    jobs: int = 1,
    covered: RoomCoverage | None = None,
) -> int:
    """Run them all, explain the failed ones and sum up; 0 when none failed."""
    failed: list[int] = []
    totals: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    cpu_s, began_s, told_s = 0.0, monotonic(), 0.0
    on_terminal = sys.stdout.isatty()
    every_s = TELL_EVERY_S if on_terminal else TELL_A_FILE_EVERY_S
    for done, outcome in enumerate(_outcomes(seeds, cluster=cluster, jobs=jobs), start=1):
        totals.update(outcome.counts)
        kinds.update(outcome.kinds)
        cpu_s += outcome.cpu_s
        if outcome.failure is not None:
            failed.append(outcome.seed)
            sys.stdout.write(f"\n{outcome.failure}\n")
        now_s = monotonic()
        if now_s - told_s > every_s or done == len(seeds):
            told_s = now_s
            left_s = (now_s - began_s) / done * (len(seeds) - done)
            line = f"{done}/{len(seeds)} seeds, failed: {failed}, {left_s:.0f} s left"
            sys.stdout.write(f"\r{line} " if on_terminal else f"{line}\n")
            sys.stdout.flush()
    sys.stdout.write(f"\n{cpu_s / max(1, len(seeds)):.3f} s of CPU a seed\n")
    for name, counter in (("did", totals), ("had", kinds)):
        told = ", ".join(f"{count} {what}" for what, count in counter.items() if count)
        sys.stdout.write(f"{name}: {told}\n")
    if covered is not None:
        covered.tell()
    if failed:
        flag = "--cluster " if cluster else ""
        sys.stdout.write(f"shrink: python -m simulation {flag}--seed {failed[0]} --shrink\n")
    return int(bool(failed))


def _outcomes(seeds: range, *, cluster: bool, jobs: int) -> Iterator[Outcome]:
    """In the order of the seeds, however many processes run them."""
    run = partial(run_one, cluster=cluster)
    if jobs <= 1:
        yield from map(run, seeds)
        return
    # Not forked: a lock that a thread holds here, of a test's broker say, would stay held there.
    with get_context("spawn").Pool(jobs) as pool:
        yield from pool.imap(run, seeds, chunksize=5)
