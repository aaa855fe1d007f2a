"""The wheel alone, in an environment and a folder of its own: load, dump and analyze.

What it needs beside (PySpark, DuckDB, …) is what the lock has put into the environment of these
tests; mockbroker itself is the wheel's. Modules of the user's project have names of this clone's
rooms, of Python's library and of what is installed.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

import pytest

from mockbroker import MockBroker
from mockbroker.pipeline.connector import connector_conf
from tests.support.journal_lines import Journal

ROOT = Path(__file__).resolve().parents[2]
DEADLINE_SECONDS = 900
ROWS = 300
BESIDE = ("pipeline", "protocol", "session", "command", "journal", "state", "duckdb_", "spark")

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.timeout(2 * DEADLINE_SECONDS)]


@dataclass(frozen=True)
class Installed:
    """An environment with the wheel, and a project to work in."""

    python: Path
    project: Path

    def run(self, *words: str, java: bool = True) -> subprocess.CompletedProcess[str]:
        """`mockbroker pipeline …` in the project; without `java` there is none to be found."""
        kept = (
            {"HOME", "LANG", "TMPDIR", "PATH", "JAVA_HOME"} if java else {"HOME", "LANG", "TMPDIR"}
        )
        environ = {name: text for name, text in os.environ.items() if name in kept}
        environ.setdefault("PATH", str(self.python.parent))
        return subprocess.run(
            [str(self.python.parent / "mockbroker"), "pipeline", *words],
            cwd=self.project,
            env=environ,
            capture_output=True,
            text=True,
            timeout=DEADLINE_SECONDS,
            check=False,
        )

    def done(self, *words: str) -> dict[str, object]:
        """The summary of a job that succeeds."""
        ran = self.run(*words, "--json", "--no-progress")
        assert ran.returncode == 0, ran.stderr
        summary: dict[str, object] = json.loads(ran.stdout)
        return summary


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    folder = tmp_path_factory.mktemp("installed")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", str(folder / "env")], check=True)
    python = folder / "env" / "bin" / "python"
    install = [
        str(python),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        str(wheel),
    ]
    subprocess.run(install, check=True, capture_output=True)
    (site,) = (folder / "env" / "lib").glob("python*/site-packages")
    (site / "others.pth").write_text(sysconfig.get_path("purelib") + "\n", "utf-8")
    project = folder / "project"
    project.mkdir()
    for name in BESIDE:
        (project / f"{name}.py").write_text(
            "raise SystemExit('this is the user\\'s own')\n", "utf-8"
        )
    told = subprocess.run(
        [str(python), "-c", "import mockbroker; print(mockbroker.__file__)"],
        cwd=project, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert Path(told.stdout.strip()).is_relative_to(site)
    return Installed(python, project)


@pytest.fixture(scope="module")
def jars() -> str:
    """The folder of the connector's jars, if they are not Spark's to resolve."""
    named = connector_conf(None).get("spark.jars")
    if named is None:
        pytest.skip("the connector's jars are in no folder: scripts/spark fetch")
    return str(Path(named.partition(",")[0]).parent)


def test_load_dump_and_analyze(installed: Installed, jars: str) -> None:
    project = installed.project
    rows = "".join(f'{{"key": "k{n}", "value": "v{n}"}}\n' for n in range(ROWS))
    (project / "rows.jsonl").write_text(rows, "utf-8")
    with MockBroker(journal=project / "journals", auto_create=False) as broker:
        to = ("--bootstrap", broker.bootstrap_servers, "--jars", jars)
        assert installed.done("load", "rows.jsonl", "--topic", "t", "--create", "3", *to)
        assert len(broker.topic("t").records()) == ROWS
        assert installed.done("dump", "out", "--topic", "t", *to)["rows"] == ROWS
    on_spark = installed.done("analyze", "journals", "--out", "on-spark")
    embedded = installed.done("analyze", "journals", "--out", "embedded", "--engine", "embedded")
    assert on_spark["rows"] == embedded["rows"]
    assert on_spark["tables"] == embedded["tables"]
    page = (project / "on-spark" / "report.html").read_text("utf-8")
    assert "Fetches by class" in page


def test_without_a_jdk_analyze_is_embedded_and_a_load_makes_nothing(installed: Installed) -> None:
    project = installed.project
    Journal().write(project / "known")
    ran = installed.run("analyze", "known", "--out", "no-jdk", java=False)
    assert ran.returncode == 0, ran.stderr
    assert "the embedded engine does it" in ran.stderr
    assert (project / "no-jdk" / "report.html").is_file()
    (project / "one.jsonl").write_text('{"key": "k", "value": "v"}\n', "utf-8")
    with MockBroker(auto_create=False) as broker:
        to = ("--bootstrap", broker.bootstrap_servers)
        ran = installed.run("load", "one.jsonl", "--topic", "t", "--create", "1", *to, java=False)
        assert ran.returncode == 2
        assert "Spark needs a JRE" in ran.stderr
        assert "Traceback" not in ran.stderr
        assert broker.topics() == []
    shutil.rmtree(project / "no-jdk")
