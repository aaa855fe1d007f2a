"""Of each test in examples/console the report tells why it fails, by the way that its page gives.

The steps are read from docs/failed-tests.md: what is bold is clicked, what is code is then there.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.mockbroker.admin.console.conftest import chromium, tab
from tests.support.sources import PYTHONPATH

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

    from tests.mockbroker.admin.console.conftest import Tab

__all__ = ("chromium", "tab")
pytestmark = [pytest.mark.browser, pytest.mark.timeout(240)]

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "failed-tests.md").read_text("utf-8")
WAYS = {
    file: re.findall(r"\*\*(.+?)\*\*|`(.+?)`", " ".join(steps.split()))
    for file, steps in re.findall(
        r"^`(test_\w+)\.py`.*?\n\n(1\. .*?)\n\nThe cause", TEXT, re.MULTILINE | re.DOTALL
    )
}
"""By file: pairs of what is clicked, or what is read, in the order of the page."""


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the five tests leave, which all fail."""
    folder = tmp_path_factory.mktemp("console") / "console"
    shutil.copytree(ROOT / "examples" / "console", folder)
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "MOCKB"))}
    environment["PYTHONPATH"] = PYTHONPATH
    command = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "--mockbroker-report=reports"]
    command += ["-p", "mockbroker.testing.pytest_plugin.plugin"]
    ran = subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert f"{len(WAYS)} failed" in ran.stdout.splitlines()[-1], ran.stdout + ran.stderr
    return folder / "reports"


def test_each_example_has_its_way() -> None:
    files = {path.stem for path in (ROOT / "examples" / "console").glob("test_*.py")}
    assert set(WAYS) == files
    assert len(files) == 5


@pytest.mark.parametrize("name", WAYS)
def test_the_way_leads_to_the_cause(tab: Tab, reports: Path, name: str) -> None:
    (report,) = reports.glob(f"{name}.py-*.html")
    tab.page.goto(report.as_uri())
    tab.page.wait_for_selector("main")
    tab.page.wait_for_selector("main:not(:has-text('Loading …'))")
    assert all(code not in told_at_first(tab.page) for _, code in WAYS[name][-1:])
    for clicked, read in WAYS[name]:
        if clicked:
            found(tab.page, clicked).click()
        elif read not in ("poll", "max.poll.interval.ms"):
            tab.page.wait_for_function(HAS_TEXT, arg=read)
    assert tab.errors == []


HAS_TEXT = """text => {
  const plain = document.querySelector("main").innerText.replace(/\\s+/g, " ");
  return plain.includes(text);
}"""


def told_at_first(page: Page) -> str:
    """What the page tells beside the failure's own text, which may quote the cause."""
    parts = page.locator("main .odd, main table, main .said").all_inner_texts()
    return " ".join(" ".join(parts).split())


def found(page: Page, text: str) -> Locator:
    """What is clicked: by its whole text; else the link of a step or of a row, or the row."""
    exact = re.compile(rf"^\s*{re.escape(text)}\s*$")
    link = page.locator("a").filter(has_text=exact)
    step = page.locator("li").filter(has_text=text).locator("a")
    line = page.locator("tr").filter(has_text=text).locator("a")
    row = page.locator("[role=row]").filter(has_text=text)
    link.or_(step).or_(line).or_(row).first.wait_for()
    return next(one for one in (link, step, line, row) if one.count()).first
