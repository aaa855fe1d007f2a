"""Each recipe of docs/cookbook.md runs, and what a beginner copies: all in one process."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from textwrap import indent
from typing import TYPE_CHECKING, Final
from xml.etree import ElementTree as ET

import pytest

from tests.clients.server import ROOT
from tests.support.sources import PYTHONPATH

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.clients, pytest.mark.timeout(240)]


def page(name: str) -> str:
    return (ROOT / "docs" / f"{name}.md").read_text("utf-8")


def runnable(name: str) -> dict[str, str]:
    """Blocks of a page that are whole: tests, and programs, which become one."""
    blocks = re.findall(r"^```python\n(.*?)^```$", page(name), re.DOTALL | re.MULTILINE)
    whole = [block for block in blocks if "def test_" in block or "import MockBroker" in block]
    return {
        f"{name} {place}": block
        if "def test_" in block
        else f"def test_program():\n{indent(block, '    ')}"
        for place, block in enumerate(whole)
    }


COOKBOOK: Final = dict(
    re.findall(r"^### (.*?)\n.*?^```python\n(.*?)^```$", page("cookbook"), re.DOTALL | re.MULTILINE)
)
RECIPES: Final = {**COOKBOOK} | {
    title: code
    for name in ("quick-start", "migration", "confluent-kafka", "kafka-python", "aiokafka")
    for title, code in runnable(name).items()
}
TITLES: Final = list(RECIPES)


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[int, list[str]]:
    """What failed of each recipe, by its place; an empty list: all of it passed."""
    folder = tmp_path_factory.mktemp("cookbook")
    for place, code in enumerate(RECIPES.values()):
        (folder / f"test_recipe_{place}.py").write_text(code, "utf-8")
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("MOCKBROKER_")
    }
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junitxml=out.xml"]
        + ([] if _is_installed() else ["-p", "mockbroker.testing.pytest_plugin.plugin"]),
        cwd=folder,
        env={**environment, "PYTHONPATH": PYTHONPATH},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return _read(folder / "out.xml")


def _is_installed() -> bool:
    from importlib.metadata import entry_points

    return any(one.name == "mockbroker" for one in entry_points(group="pytest11"))


def _read(report: Path) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    for case in ET.parse(report).iter("testcase"):
        place = int(case.attrib["classname"].rpartition("_")[2])
        bad = [
            one.text or "" for kind in ("failure", "error", "skipped") for one in case.iter(kind)
        ]
        found.setdefault(place, []).extend(bad)
    return found


@pytest.mark.parametrize("place", range(len(TITLES)), ids=TITLES)
def test_the_recipe_runs(outcomes: dict[int, list[str]], place: int) -> None:
    assert outcomes[place] == [], "\n".join(outcomes[place])


def test_each_problem_has_a_recipe_and_there_are_forty() -> None:
    assert len(COOKBOOK) == page("cookbook").count("\n### ") >= 40
