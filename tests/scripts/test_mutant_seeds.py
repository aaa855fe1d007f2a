"""A mutant is tried by the seeds that run its lines, and one that none reaches is named."""

from __future__ import annotations

import json
import subprocess
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from scripts import mutant_seeds, mutants
from scripts.mutant_seeds import Seed, candidates, in_round, mutated_lines
from scripts.mutants import NOT_REACHED, BrokenTreeError, Mutant, Simulations, Workshop

MODULE = "mockbroker/lag.py"
SOURCE = """\
LIMIT = 3


def in_sync(
    lag: int, limit: int = LIMIT
) -> bool:
    if lag < 0:
        raise ValueError
    else:
        behind = max(
            lag, 0
        )
    return behind <= limit


def unused() -> int:
    return sum(n for n in range(9))
"""
ONE, TWO, MANY = Seed(False, 1), Seed(False, 2), Seed(True, 1)
SAMPLE = [Seed(cluster, number) for cluster in (False, True) for number in range(3)]


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [
        ("behind <= limit", "behind < limit", {13}),
        ("lag, 0", "lag, 1", {11}),
        ("        raise ValueError\n", "        pass\n", {8}),
        ("    return behind", "    lag = 0\n    return behind", {13}),
        ("    else:\n", "    elif lag:\n", {7, 8, 10, 11}),
        ("limit: int = LIMIT", "limit: int = 0", {7, 8, 10, 11, 13}),
        ("LIMIT = 3", "LIMIT = 4", set()),
        ("range(9)", "range(8)", {17}),
    ],
)
def test_the_lines_of_a_mutant_are_those_that_run_when_it_does(
    old: str, new: str, lines: set[int]
) -> None:
    assert mutated_lines(SOURCE, SOURCE.replace(old, new)) == lines


def test_most_mutants_are_where_a_seed_can_be_seen_to_run_them() -> None:
    real = mutants.read_mutants()[::20]
    sources = {each.module: (mutants.ROOT / each.module).read_text("utf-8") for each in real}
    imported = [
        each.name
        for each in real
        if not mutated_lines(sources[each.module], mutants.mutated(sources[each.module], each))
    ]
    assert len(imported) < len(real) / 10, imported


def test_seeds_that_run_the_lines_come_first_and_those_known_not_to_never() -> None:
    ran = {7: {ONE, MANY}, 8: {TWO}, 9: set[Seed]()}
    assert candidates({7, 8}, ran, SAMPLE, 4) == [ONE, TWO, Seed(False, 3), MANY, Seed(True, 3)]
    assert candidates({8, 9}, ran, SAMPLE, 5) == [TWO, Seed(False, 3), Seed(False, 4)]
    assert candidates({9, 10}, ran, SAMPLE, 300) == []
    assert candidates(set(), ran, SAMPLE, 3) == SAMPLE


def test_a_round_takes_as_many_of_each_simulation() -> None:
    assert in_round([ONE, TWO, MANY], 0, 1) == [ONE, MANY]
    assert in_round([ONE, TWO, MANY], 1, 9) == [TWO]


@pytest.mark.parametrize(
    ("failure", "told"),
    [
        ("seed 1: plan\n2 violations:\n  lost\n  doubled\nrun it again", "lost"),
        ("seed 1: plan\n0 violations:\nrun it again\nKeyError: 3", "KeyError: 3"),
        ("", "?"),
    ],
)
def test_the_first_broken_rule_or_what_was_raised_is_told(
    failure: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    mutant_seeds._tell(MANY, failure)
    assert capsys.readouterr().out == f'failed: [true, 1, "{told}"]\n'


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A module, and a simulation whose seeds see its limit, those of a cluster from 2 on."""
    real = mutants.ROOT / "scripts" / "mutant_seeds.py"
    files = {
        MODULE: SOURCE,
        "mockbroker/__init__.py": "",
        "scripts/mutant_seeds.py": real.read_text("utf-8"),
        "simulation/__init__.py": "",
        "simulation/many.py": "from types import SimpleNamespace\n"
        "from mockbroker.lag import in_sync\n\n"
        "def run_one(seed, *, cluster):\n"
        "    wrong = in_sync(4 if cluster and seed > 1 else 1) is (cluster and seed > 1)\n"
        "    failure = f'seed {seed}\\n1 violations:\\n  limit' if wrong or seed == 6 else None\n"
        "    return SimpleNamespace(failure=failure)\n",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    return tmp_path


def mutant(name: str, old: str, new: str) -> Mutant:
    return Mutant(name, MODULE, old, new, "a rule")


def test_a_mutant_is_killed_reached_or_not(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    some = [
        mutant("more", "behind <= limit", "behind <= limit + 1"),
        mutant("less", "behind <= limit", "behind < limit - 2"),
        mutant("dead", "range(9)", "range(8)"),
        mutant("same", "lag < 0", "lag < -1"),
        mutant("hangs", "    return beh", "    while lag > 3:\n        pass\n    return beh"),
    ]
    monkeypatch.setattr(mutants, "ROUNDS", (1,))
    with ExitStack() as copies:
        clean, shop = (copies.enter_context(closing(Workshop(tree))) for _ in range(2))
        runner = shop.root / "scripts" / "mutant_seeds.py"
        runner.write_text(
            runner.read_text("utf-8").replace("SECONDS: Final = 30", "SECONDS: Final = 1"), "utf-8"
        )
        simulations = Simulations(clean, some, 2)
        assert list(simulations.look()) == ["looked at 4 of 4 seeds"]
        results = list(simulations.try_all([shop], 3))
    told = [(each.mutant.name, each.step, each.evidence) for each in results]
    assert told == [
        ("dead", NOT_REACHED, ""),
        ("more", "", "after 2 seeds"),
        ("less", "one broker", "seed 0: limit"),
        ("same", "", "after 2 seeds"),
        ("hangs", "", "after 2 seeds"),
        ("more", "cluster", "seed 2: limit"),
        ("same", "", "after 6 seeds"),
        ("hangs", "cluster", "seed 2: more than 1 s of CPU"),
    ]
    last = list({each.mutant.name: each for each in results}.values())
    summed = mutants.summary(some, last)
    assert summed.endswith("\n3 of 4 killed, 1 not reached")
    assert f"\nnot reached: dead ({MODULE}): a rule" in summed
    assert f"\nsurvived after 6 seeds: same ({MODULE}): a rule" in summed


@pytest.mark.parametrize(("sampled", "bound"), [(7, 7), (2, 7)])
def test_a_seed_that_fails_without_any_mutant_proves_nothing(
    tree: Path, sampled: int, bound: int
) -> None:
    with ExitStack() as copies:
        clean, shop = (copies.enter_context(closing(Workshop(tree))) for _ in range(2))
        simulations = Simulations(clean, [mutant("same", "lag < 0", "lag < -1")], sampled)
        with pytest.raises(BrokenTreeError, match=r"failed: \[false, 6"):
            _ = [*simulations.look(), *simulations.try_all([shop], bound)]


def test_the_map_is_of_every_seed_that_was_looked_at(tree: Path) -> None:
    with closing(Workshop(tree)) as clean:
        simulations = Simulations(clean, [mutant("same", "lag < 0", "lag < -1")], 3)
        assert list(simulations.look())
        assert simulations.ran[MODULE][13] == {*SAMPLE}
        assert not simulations.ran[MODULE].get(17)
        assert json.loads((clean.root / "lines.json").read_text("utf-8")).keys() == {MODULE}
