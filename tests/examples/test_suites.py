"""The suites in examples/suites pass as their users run them, and docs/suites.md shows them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.sources import PYTHONPATH

pytestmark = [pytest.mark.clients, pytest.mark.timeout(180)]

ROOT = Path(__file__).resolve().parents[2]
SUITES = ROOT / "examples" / "suites"
PYTEST = ("-m", "pytest", "-q", "-p", "no:cacheprovider")
RUNS = {
    "unittest": ("unittest_suite", ("-m", "unittest"), "Ran 3 tests"),
    "django": ("django_suite", ("manage.py", "test"), "Ran 4 tests"),
    "django-parallel": ("django_suite", ("manage.py", "test", "--parallel", "2"), "Ran 4 tests"),
    "django-reverse": ("django_suite", ("manage.py", "test", "--reverse"), "Ran 4 tests"),
    "fastapi": ("fastapi_suite", PYTEST, "3 passed"),
    "celery": ("celery_suite", PYTEST, "2 passed"),
}


@pytest.mark.parametrize("name", RUNS)
def test_a_suite_passes_in_a_folder_of_its_own(name: str, tmp_path: Path) -> None:
    folder, arguments, said = RUNS[name]
    project = tmp_path / folder
    shutil.copytree(SUITES / folder, project, ignore=shutil.ignore_patterns("__pycache__"))
    (project / "pytest.ini").write_text("[pytest]\nasyncio_default_fixture_loop_scope = function\n")
    environment = {
        k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "MOCKBROKER"))
    }
    # As installed, but for the plugin's entry point: the clone is on the path.
    environment["PYTHONPATH"] = PYTHONPATH
    if arguments is PYTEST:
        arguments = (*PYTEST, "-p", "mockbroker.testing.pytest_plugin.plugin")
    ran = subprocess.run(
        [sys.executable, *arguments],
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert said in ran.stdout + ran.stderr


def test_the_page_shows_what_runs() -> None:
    page = (ROOT / "docs" / "suites.md").read_text("utf-8")
    sources = [path.read_text("utf-8") for path in SUITES.rglob("*.py")]
    shown = re.findall(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    assert len(shown) == 7
    assert [code for code in shown if not any(code in source for source in sources)] == []
