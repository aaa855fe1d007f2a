"""Which seeds of the simulations can notice a mutant, and a run of just those.

`scripts/mutants --tier simulation` asks `mutated_lines` where a mutant is, and `candidates` which
seeds run those lines. `python -m scripts.mutant_seeds` runs the seeds, inside the copy with the
mutant; with `--map` it writes down which lines each of them runs.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import inspect
import json
import os
import re
import signal
import sys
from itertools import pairwise
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

SEED_CPU_SECONDS: Final = 30
"""A seed takes 2 s at most, 8 s with the map made; one that takes this long hangs."""


class Seed(NamedTuple):
    """A seed of one of the simulations; that of one broker sorts first, being the cheaper."""

    cluster: bool
    number: int

    @property
    def kind(self) -> str:
        return "cluster" if self.cluster else "one broker"


LineMap: TypeAlias = "Mapping[int, set[Seed]]"
"""The seeds that ran each line of a module."""


# -- where a mutant is ------------------------------------------------------------------------


def mutated_lines(before: str, after: str) -> set[int]:
    """The lines of `before` that run when the mutant is run; none if only an import runs them.

    Of code that is added, the lines beside it.
    """
    changed: set[int] = set()
    lines = before.splitlines()
    matcher = difflib.SequenceMatcher(None, lines, after.splitlines(), autojunk=False)
    for tag, first, end, _, _ in matcher.get_opcodes():
        if tag == "insert":
            changed |= {first, first + 1}
        elif tag != "equal":
            changed |= set(range(first + 1, end + 1))
    running = _lines_of_functions(compile(before, "before", "exec"))
    if changed & running:
        return changed & running
    statements = [
        range(node.lineno, (node.end_lineno or node.lineno) + 1)
        for node in ast.walk(ast.parse(before))
        if isinstance(node, ast.stmt)
    ]
    around = [statement for statement in statements if not changed.isdisjoint(statement)]
    innermost = min(around, key=len, default=range(0))
    return running.intersection(innermost)


def _lines_of_functions(code: CodeType) -> set[int]:
    """Lines with code that no import of the module runs."""
    found: set[int] = set()
    if code.co_flags & inspect.CO_OPTIMIZED:
        found |= {line for _, _, line in code.co_lines() if line and line != code.co_firstlineno}
        if code.co_name.startswith("<"):  # a lambda or a comprehension may be one line
            found.add(code.co_firstlineno)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found |= _lines_of_functions(constant)
    return found


# -- who can notice it ------------------------------------------------------------------------


def candidates(lines: set[int], ran: LineMap, sample: Sequence[Seed], bound: int) -> list[Seed]:
    """The seeds below `bound` worth a try, of each simulation the likeliest first.

    Those of the sample that run the lines, then those that the sample does not tell of; none of a
    simulation of which no seed in the sample runs them.
    """
    reached = {seed for line in lines for seed in ran.get(line, ())} if lines else {*sample}
    found: list[Seed] = []
    for cluster in (False, True):
        likely = sorted(seed for seed in reached if seed.cluster == cluster)
        known = {seed.number for seed in sample if seed.cluster == cluster}
        if likely:
            unknown = (Seed(cluster, number) for number in range(bound) if number not in known)
            found += [*likely, *unknown]
    return found


def in_round(seeds: Sequence[Seed], first: int, end: int) -> list[Seed]:
    """Of each simulation those from `first` on, before `end`; one broker first."""
    by_kind = ([seed for seed in seeds if seed.cluster == kind] for kind in (False, True))
    return [seed for of_kind in by_kind for seed in of_kind[first:end]]


def read_map(path: Path) -> dict[str, dict[int, set[Seed]]]:
    """What `--map` wrote: the seeds that ran each line of each module."""
    return {
        module: {int(line): {Seed(*seed) for seed in seeds} for line, seeds in lines.items()}
        for module, lines in json.loads(path.read_text("utf-8")).items()
    }


# -- in the copy ------------------------------------------------------------------------------


def _run(seeds: Iterable[Seed]) -> Iterator[Seed]:
    """Each before it runs. Prints the first that fails and ends there."""

    def hangs(*_: object) -> None:
        _tell(seed, f"more than {SEED_CPU_SECONDS} s of CPU")
        os._exit(1)

    seed = Seed(False, 0)  # for a mutant that hangs when it is imported
    signal.signal(signal.SIGPROF, hangs)
    signal.setitimer(signal.ITIMER_PROF, SEED_CPU_SECONDS)
    from simulation.many import run_one

    for seed in seeds:
        signal.setitimer(signal.ITIMER_PROF, SEED_CPU_SECONDS)
        yield seed
        failure = run_one(seed.number, cluster=seed.cluster).failure
        if failure is not None:
            _tell(seed, failure)
            raise SystemExit(1)
    signal.setitimer(signal.ITIMER_PROF, 0)


def _tell(seed: Seed, failure: str) -> None:
    lines = failure.splitlines()
    broken = [line for above, line in pairwise(lines) if re.match(r"[1-9]\d* violations:", above)]
    line = (broken or lines[-1:] or ["?"])[0].strip()
    print(f"failed: {json.dumps([*seed, line])}", flush=True)


def _write_map(seeds: Sequence[Seed], modules: Sequence[str], target: Path) -> None:
    from coverage import Coverage

    covered = Coverage(
        data_file=None,
        config_file=False,
        include=[str(Path(module).resolve()) for module in modules],
    )
    covered.start()
    for seed in _run(seeds):
        covered.switch_context(json.dumps(seed))
    covered.stop()
    ran = covered.get_data()
    lines = {
        module: {
            line: [json.loads(context) for context in contexts if context]
            for line, contexts in ran.contexts_by_lineno(str(Path(module).resolve())).items()
        }
        for module in modules
    }
    target.write_text(json.dumps(lines), "utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """0 when every seed kept every rule, 1 when one did not."""
    parser = argparse.ArgumentParser(prog="python -m scripts.mutant_seeds", description=__doc__)
    parser.add_argument("seeds", help="as JSON: [[cluster or not, number], ...]")
    parser.add_argument("modules", nargs="*", help="those whose lines the map tells of")
    parser.add_argument("--map", type=Path, help="write here which seeds ran which lines")
    options = parser.parse_args(arguments)
    seeds = [Seed(*seed) for seed in json.loads(options.seeds)]
    if options.map:
        _write_map(seeds, options.modules, options.map)
    else:
        for _ in _run(seeds):
            pass
    return 0


if __name__ == "__main__":
    sys.exit(main())
