"""`python -m simulation`: one seed with its trace or as a short test, or many with a summary."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simulation.shrinking import Shrinker


def main(arguments: list[str] | None = None) -> int:
    """0 when every seed kept every rule, else 1."""
    parser = argparse.ArgumentParser(prog="python -m simulation", description=__doc__)
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--seed", type=int, help="run this seed and print what happened")
    which.add_argument("--seeds", metavar="A..B", help="run the seeds from A on, before B")
    parser.add_argument("--cluster", action="store_true", help="several brokers, and their links")
    parser.add_argument("--shrink", action="store_true", help="make a failing seed a short test")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes for --seeds")
    parser.add_argument(
        "--coverage", action="store_true", help="how much of each room the seeds ran; one process"
    )
    options = parser.parse_args(arguments)
    covered = None
    if options.coverage and options.jobs > 1:
        parser.error("--coverage sees this process alone: leave --jobs out, or give it 1")
    if options.coverage:
        from simulation.coverages import RoomCoverage

        covered = RoomCoverage()
    from simulation.many import run_seeds
    from simulation.seeds import BrokerSeed, ClusterSeed
    from simulation.shrinking import Shrinker

    if options.seed is None:
        first, _, last = options.seeds.replace(":", "..").partition("..")
        seeds = range(int(first), int(last))
        return run_seeds(seeds, cluster=options.cluster, jobs=options.jobs, covered=covered)
    seed = (ClusterSeed if options.cluster else BrokerSeed)(options.seed)
    if options.shrink:
        return _shrink(Shrinker(seed, lambda line: sys.stderr.write(f"{line}\n")))
    report = seed.report()
    sys.stdout.write(f"{report.explain()}\n{report.counts}\ntrace {report.trace_hash}\n")
    return int(report.failed)


def _shrink(shrinker: Shrinker) -> int:
    """Print the test. 0 when the seed breaks no rule."""
    test = shrinker.shrink()
    if test is None:
        sys.stdout.write("it breaks no rule\n")
        return 0
    sys.stderr.write(
        f"{shrinker.attempts} runs, {len(shrinker.steps_before)} steps became "
        f"{len(shrinker.steps)}\n"
    )
    sys.stdout.write(test)
    return 1


if __name__ == "__main__":
    raise SystemExit(main())
