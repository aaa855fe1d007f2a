"""Small defects of the core, one at a time in a throw-away copy: which tests notice?

    scripts/mutants                                     all, by unit tests
    scripts/mutants coordinator/txn 'late answer'       those of a room, and one by its name
    scripts/mutants --tier simulation --sample 50       by the simulations, 50 taken by chance

A word picks the mutants in whose name, module or tags it occurs. Each is tried by the tests of its
module first, then by those of its room. The exit status is 1 when one survives that is no
equivalent.

By the simulations: first a sample of seeds shows which lines each runs. A mutant is tried by the
seeds that run its lines, then by those not in the sample; one whose lines none runs is not reached.
All are tried by a few seeds before any is tried by many, so that a run that is stopped tells most.
What no simulated broker can meet, as the table says with its reason, is left out.

The mutants are in scripts/mutants.toml, and a unit test checks that each still applies.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import queue
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from scripts.mutant_seeds import Seed, candidates, in_round, mutated_lines, read_map

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from scripts.mutant_seeds import LineMap

ROOT: Final = Path(__file__).resolve().parent.parent
TABLE: Final = ROOT / "scripts" / "mutants.toml"
PACKAGES: Final = {
    "mockbroker/": "tests/mockbroker/",
    "protocol/mockbroker_protocol/": "tests/protocol/",
}
"""Where the tests of a package are."""
BESIDE: Final = {
    "fetch": ("tests/fetch_cases",),
    "replica": ("tests/fetch_cases", "tests/mockbroker/cluster"),
    "cluster": ("tests/mockbroker/testing/test_cluster_view.py",),
    "coordinator/txn": ("tests/property/test_transactions_replicated.py",),
    "security": ("tests/property/test_logins.py",),
}
"""Tests that belong to a room and are not in its folder."""
UNUSED_PLUGINS: Final = ("cacheprovider", "schemathesis", "xdist", "random_order", "anyio")
"""To import them takes longer than most of these tests."""
OTHER_TIERS: Final = ("clients", "java", "node", "go", "browser", "image", "kafka", "spark")
TEST_SECONDS: Final = 30
"""A test that takes longer hangs."""
STEP_SECONDS: Final = 900
NO_TESTS: Final = 5
"""How pytest ends that was left none to run."""
ROUNDS: Final = (10, 30, 100)
"""Every mutant is tried by so many seeds of each simulation before one is tried by more."""
SEEDS_AT_ONCE: Final = 20
NOT_REACHED: Final = "not reached"
MEMORY_KIB: Final = 4 * 1024 * 1024
"""What a mutant may take: one that grows for ever is killed by that."""


class BrokenTreeError(Exception):
    """What fails without any mutant, so that its failure would tell nothing."""


class StaleMutantError(Exception):
    """The code moved: a mutant's fragment is not there once."""


class Mutant(NamedTuple):
    """One defect: `old` in `module` becomes `new`; `breaks` is the rule that it breaks.

    `tests` are those that should notice, beside the test files of the module. An `equivalent` one
    changes nothing that anybody could see; one `outside` is what no simulated broker meets: each
    is the reason why.
    """

    name: str
    module: str
    old: str
    new: str
    breaks: str
    tests: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    equivalent: str = ""
    outside: str = ""

    @property
    def room(self) -> str:
        """The folder of the module: `replica`, `coordinator/txn`; what is in none is its own."""
        if self.module.startswith("protocol/"):
            return "mockbroker_protocol"
        folders = self.module.split("/")[1:-1] or [Path(self.module).stem]
        return "/".join(folders[: 2 if folders[0] == "coordinator" else 1])


Attempt: TypeAlias = "Callable[[Workshop, Mutant], tuple[str, str]]"


class Result(NamedTuple):
    """What became of a mutant. `step` noticed, by `evidence`; no step did if it survived."""

    mutant: Mutant
    step: str
    evidence: str
    seconds: float


# -- the table --------------------------------------------------------------------------------


def read_mutants(table: Path = TABLE) -> list[Mutant]:
    """All mutants, by the order of the table."""
    entries = tomllib.loads(table.read_text("utf-8"))["mutant"]
    return [
        Mutant(
            entry["name"],
            entry["module"],
            entry["old"],
            entry["new"],
            entry["breaks"],
            tuple(entry.get("tests", ())),
            tuple(entry.get("tags", ())),
            entry.get("equivalent", ""),
            entry.get("outside", ""),
        )
        for entry in entries
    ]


def mutated(source: str, mutant: Mutant) -> str:
    """The module with the defect."""
    count = source.count(mutant.old)
    if count != 1:
        raise StaleMutantError(
            f"mutant '{mutant.name}': its fragment occurs {count} times in {mutant.module}"
        )
    return source.replace(mutant.old, mutant.new)


def paths_of_module(mutant: Mutant) -> list[str]:
    """The mirrored test files of the module, then what else the mutant names."""
    module = Path(mutant.module)
    folder = next(
        ROOT / tests / module.relative_to(package).parent
        for package, tests in PACKAGES.items()
        if mutant.module.startswith(package)
    )
    mirrored = sorted(folder.glob(f"test_{module.stem}*.py"))
    paths = [*(path.relative_to(ROOT).as_posix() for path in mirrored), *mutant.tests]
    return list(dict.fromkeys(paths))


def paths_of_room(mutant: Mutant) -> list[str]:
    """Every test of its room."""
    if mutant.room == "mockbroker_protocol":
        return ["tests/protocol"]
    folder = f"tests/mockbroker/{mutant.room}"
    if mutant.module.count("/") == 1:
        return [f"tests/mockbroker/test_{mutant.room}.py"]
    return [folder, *BESIDE.get(mutant.room, ())]


# -- a copy to break --------------------------------------------------------------------------


_SERVER: Final = """
import json, os, runpy, sys
import hypothesis, pytest, pytest_asyncio, pytest_timeout
for line in sys.stdin:
    arguments = json.loads(line)
    child = os.fork()
    if not child:
        os.setsid()
        printed = os.open("printed.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(printed, 1)
        os.dup2(printed, 2)
        sys.argv = arguments
        runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
        os._exit(0)
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
"""Runs modules, each in a fork: what no mutant is in, such as pytest, is imported once."""


class Workshop:
    """A throw-away copy of a tree, in which one mutant at a time is tried."""

    def __init__(self, source: Path = ROOT) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="mutants-"))
        self._edits = 0
        for name in _files(source):
            target = self.root / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source / name, target)
        path = f"{self.root}{os.pathsep}{self.root / 'protocol'}"
        self._child = 0
        self._server = subprocess.Popen(
            ["sh", "-c", f'ulimit -v {MEMORY_KIB}; exec "$@"', "sh", sys.executable, "-c", _SERVER],
            cwd=self.root,
            env={**os.environ, "PYTHONPATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def close(self) -> None:
        """End what runs here and remove the copy."""
        self._server.kill()
        self.stop()
        self._server.communicate()
        shutil.rmtree(self.root, ignore_errors=True)

    def write(self, module: str, source: str) -> None:
        """Put other text into a module; its compiled form is taken for old then."""
        path = self.root / module
        self._edits += 1
        changed = path.stat().st_mtime + self._edits
        path.write_text(source, "utf-8")
        os.utime(path, (changed, changed))

    def run(self, module: str, *arguments: str) -> tuple[int, str]:
        """Run a module with these arguments in the copy: its exit status and what it printed."""
        stdin, stdout = self._server.stdin, self._server.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(json.dumps([module, *arguments]) + "\n")
        stdin.flush()
        self._child = int(stdout.readline() or 0)
        hangs = threading.Timer(STEP_SECONDS, self.stop)
        hangs.start()
        status = int(stdout.readline() or 1)
        hangs.cancel()
        self._child = 0
        return status, (self.root / "printed.txt").read_text("utf-8", "replace")

    def stop(self) -> None:
        """End what is being run, if anything is."""
        if self._child:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._child, signal.SIGKILL)


def _files(source: Path) -> Iterator[str]:
    """What git knows or would take: nothing that was built or downloaded."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=source,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in listed.stdout.split("\0"):
        if name and (source / name).is_file():
            yield name


# -- trying -----------------------------------------------------------------------------------


def pytest_arguments(paths: Iterable[str]) -> list[str]:
    """The tests of these paths that need nothing but Python, up to the first that fails."""
    return [
        *("-q", "-x", "--tb=no", "-rfE", "-W", "ignore::pytest.PytestAssertRewriteWarning"),
        # The thread ends the process, whatever the test does about a signal.
        *("-o", f"timeout={TEST_SECONDS}", "-o", "timeout_method=thread"),
        *(word for name in UNUSED_PLUGINS for word in ("-p", f"no:{name}")),
        *(f"--without-tier={tier}" for tier in OTHER_TIERS),
        *paths,
    ]


def try_by_units(shop: Workshop, mutant: Mutant, *, narrow: bool) -> tuple[str, str]:
    """Which step of the unit tests notices, and which test; empty if none does."""
    tried: list[str] = []
    steps = [("module", paths_of_module(mutant)), ("room", paths_of_room(mutant))]
    for step, paths in steps[: 1 if narrow else 2]:
        ignored = [f"--ignore={path}" for path in tried if "::" not in path]
        status, printed = shop.run("pytest", *pytest_arguments([*ignored, *paths]))
        if status not in (0, NO_TESTS):
            return step, _first_failure(printed)
        tried += paths
    return "", ""


def _first_failure(printed: str) -> str:
    found = re.search(r"^(?:FAILED|ERROR) (\S+)", printed, re.MULTILINE)
    last = printed.strip().splitlines()[-1:] or ["no output"]
    return found[1] if found else last[0]


def try_by_seeds(
    shop: Workshop, mutant: Mutant, seeds: Mapping[str, Sequence[Seed]]
) -> tuple[str, str]:
    """Which simulation notices, by which seed and rule; `seeds` are by the mutant's name."""
    status, printed = shop.run("scripts.mutant_seeds", json.dumps(seeds[mutant.name]))
    if not status:
        return "", ""
    found = re.search(r"^failed: (.*)$", printed, re.MULTILINE)
    if not found:
        return "one broker", _first_failure(printed)
    cluster, number, rule = json.loads(found[1])
    return Seed(cluster, number).kind, f"seed {number}: {rule[:150]}"


class Simulations:
    """Tries mutants by those seeds that can notice them. `clean` never has a mutant."""

    def __init__(self, clean: Workshop, mutants: Sequence[Mutant], sampled: int) -> None:
        self._clean = clean
        self._mutants = mutants
        self.sample = [Seed(kind, number) for kind in (False, True) for number in range(sampled)]
        self.ran: dict[str, dict[int, set[Seed]]] = {}

    def look(self) -> Iterator[str]:
        """Make the map of lines. A line of progress now and then."""
        modules = sorted({mutant.module for mutant in self._mutants})
        path = self._clean.root / "lines.json"
        for first in range(0, len(self.sample), SEEDS_AT_ONCE):
            seeds = self.sample[first : first + SEEDS_AT_ONCE]
            words = (json.dumps(seeds), *modules, "--map", str(path))
            status, printed = self._clean.run("scripts.mutant_seeds", *words)
            if status:
                raise BrokenTreeError(_first_failure(printed))
            for module, lines in read_map(path).items():
                known = self.ran.setdefault(module, {})
                for line, ran in lines.items():
                    known.setdefault(line, set()).update(ran)
            yield f"looked at {first + len(seeds)} of {len(self.sample)} seeds"

    def candidates(self, mutant: Mutant, bound: int) -> list[Seed]:
        """The seeds that can notice it; none when it is not reached."""
        before = (self._clean.root / mutant.module).read_text("utf-8")
        ran: LineMap = self.ran.get(mutant.module, {})
        return candidates(mutated_lines(before, mutated(before, mutant)), ran, self.sample, bound)

    def try_all(self, shops: Sequence[Workshop], bound: int) -> Iterator[Result]:
        """A result of each mutant in each round that it lives to see."""
        seeds = {mutant.name: self.candidates(mutant, bound) for mutant in self._mutants}
        yield from (
            Result(mutant, NOT_REACHED, "", 0) for mutant in self._mutants if not seeds[mutant.name]
        )
        alive = [mutant for mutant in self._mutants if seeds[mutant.name]]
        first = 0
        for end in (*(end for end in ROUNDS if end < bound), bound):
            now = {name: in_round(them, first, end) for name, them in seeds.items()}
            trying = [mutant for mutant in alive if now[mutant.name]]
            for result in try_all(trying, shops, partial(try_by_seeds, seeds=now)):
                if result.step:
                    self._confirm(result)
                    alive.remove(result.mutant)
                    yield result
                else:
                    tried = len(in_round(seeds[result.mutant.name], 0, end))
                    yield result._replace(evidence=f"after {tried} seeds")
            first = end

    def _confirm(self, result: Result) -> None:
        """A seed that is not in the sample was not yet run without any mutant."""
        found = re.match(r"seed (\d+):", result.evidence)
        seed = Seed(result.step == "cluster", int(found[1])) if found else self.sample[0]
        if seed not in self.sample:
            status, printed = self._clean.run("scripts.mutant_seeds", json.dumps([seed]))
            if status:
                raise BrokenTreeError(_first_failure(printed))


def try_all(
    mutants: Sequence[Mutant], shops: Sequence[Workshop], attempt: Attempt
) -> Iterator[Result]:
    """The results as they come. Whoever stops to take them ends what still runs."""
    free: queue.SimpleQueue[Workshop] = queue.SimpleQueue()
    for shop in shops:
        free.put(shop)
    stop = threading.Event()

    def one(mutant: Mutant) -> Result:
        shop = free.get()
        try:
            began = time.monotonic()
            source = (shop.root / mutant.module).read_text("utf-8")
            shop.write(mutant.module, mutated(source, mutant))
            step, evidence = attempt(shop, mutant)
            if not stop.is_set():
                shop.write(mutant.module, source)
            return Result(mutant, step, evidence, time.monotonic() - began)
        finally:
            free.put(shop)

    with ThreadPoolExecutor(len(shops)) as pool:
        pending = [pool.submit(one, mutant) for mutant in mutants]
        try:
            for done in as_completed(pending):
                yield done.result()
        finally:
            stop.set()
            for future in pending:
                future.cancel()
            for shop in shops:
                shop.stop()


# -- telling ----------------------------------------------------------------------------------


def summary(mutants: Sequence[Mutant], results: Sequence[Result]) -> str:
    """A table by room, and who survived."""
    steps = list(dict.fromkeys(("module", "room", *(r.step for r in results if r.step))))
    steps = [step for step in steps if any(result.step == step for result in results)]
    lines = [
        "",
        f"| room | mutants | {' | '.join(steps)} | survived | equivalent |",
        "|---|" + "--:|" * (len(steps) + 3),
    ]
    by_room = [(room, room) for room in sorted({mutant.room for mutant in mutants})]
    for title, wanted in [*by_room, ("all", "")]:
        known = [mutant for mutant in mutants if wanted in {"", mutant.room}]
        of_room = [result for result in results if wanted in {"", result.mutant.room}]
        counts = [sum(result.step == step for result in of_room) for step in (*steps, "")]
        equivalent = sum(bool(mutant.equivalent) for mutant in known)
        cells = [title, len(known), *counts, equivalent]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    for result in results:
        if result.step in {"", NOT_REACHED}:
            each = result.mutant
            outcome = result.step or f"survived {result.evidence}".strip()
            lines.append(f"\n{outcome}: {each.name} ({each.module}): {each.breaks}")
    reached = [result.step for result in results if result.step != NOT_REACHED]
    killed = sum(map(bool, reached))
    lines.append(f"\n{killed} of {len(reached)} killed, {len(results) - len(reached)} not reached")
    return "\n".join(lines)


def picked(mutants: Iterable[Mutant], words: Sequence[str]) -> list[Mutant]:
    """Those that one of the words is about; all without words."""
    return [
        mutant
        for mutant in mutants
        if not words
        or any(
            word in text for word in words for text in (mutant.name, mutant.module, *mutant.tags)
        )
    ]


def sampled(mutants: Sequence[Mutant], count: int, seed: int) -> list[Mutant]:
    """So many of them by chance, by the order of the table; all for 0."""
    if not 0 < count < len(mutants):
        return list(mutants)
    chosen = random.Random(seed).sample(range(len(mutants)), count)
    return [mutants[index] for index in sorted(chosen)]


def check_tree(shop: Workshop, mutants: Sequence[Mutant]) -> None:
    """Without any mutant, the tests of their modules have to pass."""
    paths = dict.fromkeys(path for mutant in mutants for path in paths_of_module(mutant))
    status, printed = shop.run("pytest", *pytest_arguments(paths))
    if status:
        raise BrokenTreeError(_first_failure(printed))


def try_and_tell(
    mutants: Sequence[Mutant], options: argparse.Namespace, shops: Sequence[Workshop]
) -> dict[str, Result]:
    """What became of each mutant so far, by its name: all of them unless somebody stops it."""
    results: dict[str, Result] = {}
    try:
        if options.tier == "simulation":
            simulations = Simulations(shops[0], mutants, min(options.look, options.seeds))
            for told in simulations.look():
                print(told, flush=True)
            outcomes = simulations.try_all(shops[1:], options.seeds)
        else:
            check_tree(shops[0], mutants)
            outcomes = try_all(mutants, shops[1:], partial(try_by_units, narrow=options.narrow))
        for result in outcomes:
            results[result.mutant.name] = result
            killed = sum(each.step not in {"", NOT_REACHED} for each in results.values())
            place = f"[{len(results)}/{len(mutants)}, {killed} killed]"
            step = result.step or "SURVIVED"
            outcome = f"{step:10} {result.evidence} ({result.seconds:.1f} s)"
            print(f"{place:20} {result.mutant.name}: {outcome}", flush=True)
    except KeyboardInterrupt:
        print("stopped; this is what came of it so far")
    return results


def main(arguments: Sequence[str] | None = None) -> int:
    """0 when every mutant is noticed, 1 when one survives, 2 when nothing could be tried."""
    parser = argparse.ArgumentParser(
        prog="scripts/mutants",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("words", nargs="*", help="part of a name, a module or a tag")
    parser.add_argument("--tier", choices=("units", "simulation"), default="units")
    parser.add_argument("--seeds", type=int, default=300, help="of each simulation (300)")
    parser.add_argument(
        "--look", type=int, default=40, help="so many seeds of each show which lines they run (40)"
    )
    parser.add_argument("--sample", type=int, default=0, help="so many mutants, by chance (all)")
    parser.add_argument("--seed", type=int, default=0, help="of that chance (0)")
    parser.add_argument("--narrow", action="store_true", help="only the tests of each module")
    parser.add_argument("--jobs", type=int, default=1, help="copies that are tried at a time (1)")
    parser.add_argument("--list", action="store_true", help="name the mutants and try none")
    options = parser.parse_args(arguments)
    mutants = picked(read_mutants(), options.words)
    if options.list or not mutants:
        for mutant in mutants:
            print(f"{mutant.room:20} {mutant.name}: {mutant.breaks}")
        return 0 if mutants else 2
    real = [mutant for mutant in mutants if not mutant.equivalent]
    if options.tier == "simulation":
        real = [mutant for mutant in real if not mutant.outside]
    real = sampled(real, options.sample, options.seed)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with contextlib.ExitStack() as copies:
        count = 1 + max(1, min(options.jobs, len(real)))
        shops = [copies.enter_context(contextlib.closing(Workshop())) for _ in range(count)]
        try:
            results = try_and_tell(real, options, shops)
        except BrokenTreeError as error:
            print(f"without any mutant this fails: {error}", file=sys.stderr)
            return 2
    print(summary(mutants if not options.sample else real, list(results.values())))
    if len(results) < len(real):
        return 2
    return int(any(each.step in {"", NOT_REACHED} for each in results.values()))


if __name__ == "__main__":
    raise SystemExit(main())
