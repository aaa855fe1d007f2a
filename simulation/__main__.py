"""`python -m simulation`: run one seed with its trace, or many with a line of progress."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from simulation.cluster.simulation import simulate_cluster
from simulation.simulation import simulate

if TYPE_CHECKING:
    from collections.abc import Callable

    from simulation.runner import Report


def main(arguments: list[str] | None = None) -> int:
    """0 when every seed kept every rule, else 1."""
    parser = argparse.ArgumentParser(prog="python -m simulation", description=__doc__)
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--seed", type=int, help="run this seed and print what happened")
    which.add_argument("--seeds", metavar="FROM:TO", help="run these seeds, TO left out")
    parser.add_argument("--cluster", action="store_true", help="several brokers, and their links")
    options = parser.parse_args(arguments)
    run: Callable[[int], Report] = simulate_cluster if options.cluster else simulate
    if options.seed is not None:
        report = run(options.seed)
        sys.stdout.write(f"{report.explain()}\n{report.counts}\ntrace {report.trace_hash}\n")
        return int(report.failed)
    first, last = map(int, options.seeds.split(":"))
    return run_seeds(range(first, last), run)


def run_seeds(seeds: range, run: Callable[[int], Report]) -> int:
    """Run them all; explain the failed ones."""
    failed: list[int] = []
    totals: dict[str, int] = {}
    for done, seed in enumerate(seeds, start=1):
        report = run(seed)
        for name, count in report.counts.items():
            totals[name] = totals.get(name, 0) + count
        if report.failed:
            failed.append(seed)
            sys.stdout.write(f"\n{report.explain()}\n")
        told = ", ".join(f"{count} {name}" for name, count in totals.items())
        sys.stdout.write(f"\r{done}/{len(seeds)} seeds, {told}, failed: {failed}")
        sys.stdout.flush()
    sys.stdout.write("\n")
    return int(bool(failed))


if __name__ == "__main__":
    raise SystemExit(main())
