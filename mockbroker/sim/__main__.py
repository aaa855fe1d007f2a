"""`python -m mockbroker.sim`: run one seed with its trace, or many with a line of progress."""

from __future__ import annotations

import argparse
import sys

from mockbroker.sim.simulation import simulate


def main(arguments: list[str] | None = None) -> int:
    """0 when every seed kept every rule, else 1."""
    parser = argparse.ArgumentParser(prog="python -m mockbroker.sim", description=__doc__)
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--seed", type=int, help="run this seed and print what happened")
    which.add_argument("--seeds", metavar="FROM:TO", help="run these seeds, TO left out")
    options = parser.parse_args(arguments)
    if options.seed is not None:
        report = simulate(options.seed)
        sys.stdout.write(f"{report.explain()}\n{report.counts}\ntrace {report.trace_hash}\n")
        return int(report.failed)
    first, last = map(int, options.seeds.split(":"))
    return run_seeds(range(first, last))


def run_seeds(seeds: range) -> int:
    """Run them all; explain the failed ones."""
    failed: list[int] = []
    answers = 0
    for done, seed in enumerate(seeds, start=1):
        report = simulate(seed)
        answers += report.counts["answers"]
        if report.failed:
            failed.append(seed)
            sys.stdout.write(f"\n{report.explain()}\n")
        sys.stdout.write(f"\r{done}/{len(seeds)} seeds, {answers} answers, failed: {failed}")
        sys.stdout.flush()
    sys.stdout.write("\n")
    return int(bool(failed))


if __name__ == "__main__":
    raise SystemExit(main())
