"""The tests and programs of docs/backends.md run where it says that they do."""

from __future__ import annotations

import re

import pytest

from mockbroker import MockBroker
from mockbroker.testing.pytest_plugin.servers import NEEDS
from tests.clients.server import ROOT
from tests.support.sources import PYTHONPATH

pytest_plugins = ["pytester"]

PAGE = (ROOT / "docs" / "backends.md").read_text("utf-8")
SUITE, *PROGRAMS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONPATH", PYTHONPATH)
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    monkeypatch.delenv("MOCKBROKER_BOOTSTRAP", raising=False)
    pytester.makepyfile(SUITE)
    return pytester


def go(run: pytest.Pytester, where: str) -> pytest.RunResult:
    plugin = "mockbroker.testing.pytest_plugin.plugin"
    return run.runpytest_subprocess("-p", plugin, "-p", "no:cacheprovider", f"--mockbroker={where}")


@pytest.mark.parametrize("where", ["in-process", "process"])
def test_both_tests_pass_on_a_broker_that_is_started(run: pytest.Pytester, where: str) -> None:
    go(run, where).assert_outcomes(passed=2)


def test_they_pass_over_an_admin_port_and_one_of_them_over_kafkas_protocol(
    run: pytest.Pytester,
) -> None:
    with MockBroker(admin_port=0) as broker:
        assert broker.admin_url
        go(run, broker.admin_url).assert_outcomes(passed=2)
        kafka = f"kafka://{broker.bootstrap_servers}"
        go(run, kafka).assert_outcomes(passed=1, skipped=1)


@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_a_program_runs(number: int) -> None:
    with MockBroker(admin_port=0) as broker:
        assert broker.admin_url
        program = PROGRAMS[number].replace("http://127.0.0.1:9644", broker.admin_url)
        program = program.replace("127.0.0.1:9092", broker.bootstrap_servers)
        exec(compile(program, "backends.md", "exec"), {"__name__": "snippet"})
        assert broker.topics() in (["orders"], [])


def test_every_word_of_the_marker_is_there() -> None:
    assert [word for word in NEEDS if f"`{word}`" not in PAGE] == []
