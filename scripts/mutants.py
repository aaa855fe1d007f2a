"""Small defects of the core, one at a time in a throw-away copy: which tests notice?

    scripts/mutants                                     all, by unit tests
    scripts/mutants coordinator/txn 'late answer'       those of a room, and one by its name
    scripts/mutants --tier simulation --seeds 300       by the simulations

A word picks the mutants in whose name, module or tags it occurs. Each is tried by the tests of its
module first, then by those of its room. The exit status is 1 when one survives that is no
equivalent. The mutants are in scripts/mutants.toml, and a unit test checks that each still applies.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import queue
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

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

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
}
"""Tests that belong to a room and are not in its folder."""
UNUSED_PLUGINS: Final = ("cacheprovider", "schemathesis", "xdist", "random_order", "anyio")
"""To import them takes longer than most of these tests."""
OTHER_TIERS: Final = ("clients", "java", "node", "go", "image", "kafka", "spark")
TEST_SECONDS: Final = 30
"""A test that takes longer hangs."""
STEP_SECONDS: Final = 900
SEEDS_AT_ONCE: Final = 20
MEMORY_KIB: Final = 4 * 1024 * 1024
"""What a mutant may take: one that grows for ever is killed by that."""


class StaleMutantError(Exception):
    """The code moved: a mutant's fragment is not there once."""


class Mutant(NamedTuple):
    """One defect: `old` in `module` becomes `new`; `breaks` is the rule that it breaks.

    `tests` are those that should notice, beside the test files of the module. An `equivalent` one
    changes nothing that anybody could see; that is the reason why.
    """

    name: str
    module: str
    old: str
    new: str
    breaks: str
    tests: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    equivalent: str = ""

    @property
    def room(self) -> str:
        """The folder of the module: `replica`, `coordinator/txn`; what is in none is its own."""
        if self.module.startswith("protocol/"):
            return "mockbroker_protocol"
        folders = self.module.split("/")[1:-1] or [Path(self.module).stem]
        return "/".join(folders[: 2 if folders[0] == "coordinator" else 1])


Attempt: TypeAlias = "Callable[[Workshop, Mutant], tuple[str, str]]"


class Result(NamedTuple):
    """What became of a mutant. `step` noticed, by `evidence`; both are empty if it survived."""

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
        self._kill()
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
        hangs = threading.Timer(STEP_SECONDS, self._kill)
        hangs.start()
        status = int(stdout.readline() or 1)
        hangs.cancel()
        self._child = 0
        return status, (self.root / "printed.txt").read_text("utf-8", "replace")

    def _kill(self) -> None:
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
        if status:
            return step, _first_failure(printed)
        tried += paths
    return "", ""


def _first_failure(printed: str) -> str:
    found = re.search(r"^(?:FAILED|ERROR) (\S+)", printed, re.MULTILINE)
    last = printed.strip().splitlines()[-1:] or ["no output"]
    return found[1] if found else last[0]


def try_by_simulation(shop: Workshop, mutant: Mutant, seeds: int) -> tuple[str, str]:
    """Which simulation notices, by which seeds; both go on side by side."""
    kinds = [("one broker", ()), ("cluster", ("--cluster",))]
    if mutant.room in {"cluster", "replica", "coordinator", "coordinator/txn", "metadata"}:
        kinds.reverse()
    for first in range(0, seeds, SEEDS_AT_ONCE):
        wanted = f"{first}:{min(first + SEEDS_AT_ONCE, seeds)}"
        for kind, flags in kinds:
            status, printed = shop.run("simulation", "--seeds", wanted, *flags)
            if status:
                failed = re.findall(r"failed: \[(\d+)", printed)
                return kind, f"seed {failed[-1]}" if failed else f"seeds {wanted}"
    return "", ""


def try_all(
    mutants: Sequence[Mutant], shops: Sequence[Workshop], attempt: Attempt
) -> Iterator[Result]:
    """The results as they come; the copies are gone in the end."""
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
                shop.close()


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
    survived = [result.mutant for result in results if not result.step]
    lines += [f"\nsurvived: {each.name} ({each.module}): {each.breaks}" for each in survived]
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


def check_tree(shop: Workshop, mutants: Sequence[Mutant], seeds: int) -> str | None:
    """What fails without any mutant, so that its failure would tell nothing; None: nothing."""
    if seeds:
        status, printed = shop.run("simulation", "--seeds", f"0:{SEEDS_AT_ONCE}")
    else:
        paths = dict.fromkeys(path for mutant in mutants for path in paths_of_module(mutant))
        status, printed = shop.run("pytest", *pytest_arguments(paths))
    return _first_failure(printed) if status else None


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
    seeds = options.seeds if options.tier == "simulation" else 0
    attempt: Attempt = partial(try_by_units, narrow=options.narrow)
    if seeds:
        attempt = partial(try_by_simulation, seeds=seeds)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(2))
    shops = [Workshop() for _ in range(max(1, min(options.jobs, len(real))))]
    failed = check_tree(shops[0], real, seeds)
    if failed is not None:
        for shop in shops:
            shop.close()
        print(f"without any mutant this fails: {failed}", file=sys.stderr)
        return 2
    results: list[Result] = []
    for result in try_all(real, shops, attempt):
        results.append(result)
        outcome = f"{result.step:10} {result.evidence}" if result.step else "SURVIVED"
        place = f"[{len(results)}/{len(real)}]"
        print(f"{place:10} {result.mutant.name}: {outcome} ({result.seconds:.1f} s)", flush=True)
    print(summary(mutants, results))
    return int(any(not result.step for result in results))


if __name__ == "__main__":
    raise SystemExit(main())
