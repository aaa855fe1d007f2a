"""Every mutant still applies, and the tool tells a test that notices from one that does not."""

from __future__ import annotations

import ast
import subprocess
from collections import Counter
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from scripts import mutants
from scripts.mutants import Mutant, StaleMutantError, Workshop, mutated

MODULE = "mockbroker/replica/lag.py"
MUTANT = Mutant("late", MODULE, "<= limit", "< limit", "a lag of the limit is none")


@pytest.fixture(scope="module")
def table() -> list[Mutant]:
    return mutants.read_mutants()


def test_each_mutant_applies_and_compiles(table: list[Mutant]) -> None:
    for mutant in table:
        source = (mutants.ROOT / mutant.module).read_text("utf-8")
        compile(mutated(source, mutant), mutant.module, "exec")


def test_each_mutant_says_what_it_breaks_and_who_should_notice(table: list[Mutant]) -> None:
    assert [name for name, n in Counter(mutant.name for mutant in table).items() if n > 1] == []
    assert [mutant.name for mutant in table if not mutant.breaks or not mutant.tags] == []
    paths = {path for mutant in table for path in mutants.paths_of_module(mutant)}
    paths |= {path for mutant in table for path in mutants.paths_of_room(mutant)}
    assert {path for path in paths if not (mutants.ROOT / path).exists()} == set()


def test_few_are_outside_what_simulations_reach(table: list[Mutant]) -> None:
    outside = [mutant for mutant in table if mutant.outside]
    assert 0 < len(outside) < len(table) / 20
    assert not [mutant.name for mutant in outside if mutant.equivalent or len(mutant.outside) < 30]


def test_each_mutant_changes_more_than_text(table: list[Mutant]) -> None:
    for mutant in table[:: len(table) // 20]:
        source = (mutants.ROOT / mutant.module).read_text("utf-8")
        before, after = ast.parse(source), ast.parse(mutated(source, mutant))
        assert ast.dump(before) != ast.dump(after), mutant.name


@pytest.mark.parametrize("source", ["lag < limit", "lag <= limit or 2 * lag <= limit"])
def test_code_that_moved_names_the_mutant(source: str) -> None:
    with pytest.raises(StaleMutantError, match=r"'late'.*times in mockbroker/replica"):
        mutated(source, MUTANT)


def test_words_pick_by_name_module_and_tag() -> None:
    tagged = MUTANT._replace(name="other", module="mockbroker/log/a.py", tags=("epoch",))
    both = [MUTANT, tagged]
    assert mutants.picked(both, []) == both
    assert mutants.picked(both, ["late"]) == mutants.picked(both, ["replica"]) == [MUTANT]
    assert mutants.picked(both, ["epoch"]) == [tagged]


def test_a_room_is_a_folder_and_of_coordinators_each_its_own() -> None:
    rooms = {
        "mockbroker/clock.py": "clock",
        "mockbroker/cluster/links/link.py": "cluster",
        "mockbroker/coordinator/group/consumer/group.py": "coordinator/group",
        "mockbroker/coordinator/runtime.py": "coordinator",
        "protocol/mockbroker_protocol/frames.py": "mockbroker_protocol",
    }
    assert {module: MUTANT._replace(module=module).room for module in rooms} == rooms


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree with one module, a test that looks at its limit, and one that does not."""
    files = {
        MODULE: "def in_sync(lag: int, limit: int) -> bool:\n    return lag <= limit\n",
        "tests/mockbroker/replica/test_lag.py": "from mockbroker.replica.lag import in_sync\n\n"
        "def test_more() -> None:\n    assert not in_sync(2, 1)\n",
        "tests/mockbroker/replica/test_limit.py": "from mockbroker.replica.lag import in_sync\n\n"
        "def test_limit() -> None:\n    assert in_sync(1, 1)\n",
        "tests/conftest.py": "def pytest_addoption(parser):\n"
        '    parser.addoption("--without-tier", action="append")\n',
        "pytest.ini": "[pytest]\naddopts = --import-mode=importlib\n",
        "mockbroker/__init__.py": "",
        "tests/fetch_cases/README": "",
        "tests/mockbroker/cluster/README": "",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    return tmp_path


def test_a_mutant_is_tried_in_a_copy_by_its_module_then_by_its_room(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mutants, "ROOT", tree)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    lost = MUTANT._replace(name="lost", new="<= limit + 1")
    both = [MUTANT, lost]
    narrow = partial(mutants.try_by_units, narrow=True)
    with closing(Workshop(tree)) as shop:
        results = {each.mutant.name: each for each in mutants.try_all(both, [shop], narrow)}
        (wide,) = mutants.try_all([MUTANT], [shop], partial(mutants.try_by_units, narrow=False))
    assert results["late"][1:3] == ("", "")
    assert results["lost"][1:3] == ("module", "tests/mockbroker/replica/test_lag.py::test_more")
    assert not shop.root.exists()
    assert wide[1:3] == ("room", "tests/mockbroker/replica/test_limit.py::test_limit")
    assert "<= limit" in (tree / MODULE).read_text("utf-8")
    told = mutants.summary(both, list(results.values()))
    assert "| replica | 2 | 1 | 1 | 0 |" in told
    assert f"survived: late ({MODULE}): {MUTANT.breaks}" in told
    assert told.endswith("\n1 of 2 killed, 0 not reached")


def test_a_room_without_other_tests_notices_nothing(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mutants, "ROOT", tree)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    (tree / "tests/mockbroker/replica/test_limit.py").unlink()
    with closing(Workshop(tree)) as shop:
        assert mutants.try_by_units(shop, MUTANT, narrow=False) == ("", "")


def test_a_sample_is_the_same_for_the_same_seed_and_in_the_order_of_the_table(
    table: list[Mutant],
) -> None:
    first, again = mutants.sampled(table, 20, 7), mutants.sampled(table, 20, 7)
    assert first == again == sorted(first, key=table.index)
    assert len({mutant.name for mutant in first}) == 20
    assert mutants.sampled(table, 20, 8) != first
    assert mutants.sampled(table, 0, 7) == mutants.sampled(table, len(table), 7) == table
