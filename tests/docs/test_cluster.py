"""Every snippet of docs/cluster.md runs."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from mockbroker import MockBroker
from mockbroker.cli.main import main
from mockbroker.cluster.actions import check
from tests.clients.server import ROOT, serving
from tests.support.sources import PYTHONPATH

pytest_plugins = ["pytester"]

PAGE = ROOT / "docs" / "cluster.md"


def snippets(language: str) -> list[str]:
    return re.findall(
        rf"^```{language}\n(.*?)^```$", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE
    )


PYTHON = snippets("python")
PROGRAMS = [code for code in PYTHON if "def test_" not in code]
TESTS = [code for code in PYTHON if "def test_" in code]


@pytest.mark.parametrize("code", PROGRAMS, ids=range(len(PROGRAMS)))
def test_a_program_runs(code: str) -> None:
    exec(compile(code, str(PAGE), "exec"), {"__name__": "snippet"})


def test_the_tests_pass(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONPATH", PYTHONPATH)
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    monkeypatch.delenv("MOCKBROKER_BOOTSTRAP", raising=False)
    for number, code in enumerate(TESTS):
        pytester.makepyfile(**{f"test_{number}": code})
    ran = pytester.runpytest_subprocess(
        "-p", "mockbroker.testing.pytest_plugin.plugin", "-p", "no:cacheprovider"
    )
    ran.assert_outcomes(passed=len(TESTS))


@pytest.mark.parametrize(("place", "brokers"), [(0, 3), (2, 2)])
def test_the_command_starts_several_brokers(tmp_path: Path, place: int, brokers: int) -> None:
    program, verb, *arguments = shlex.split(snippets("sh")[place].replace("9192", "0"))
    assert (program, verb) == ("mockbroker", "serve")
    with serving(tmp_path, *arguments) as bootstrap:
        assert len(bootstrap.split(",")) == brokers


def test_the_commands_act_on_the_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    commands = snippets("sh")[1].replace("\\\n", "").splitlines()
    for action in json.loads(shlex.split(commands[0])[-1])["actions"]:
        check(action)
    Path("outage.json").write_text('[{"action": "revive", "node_id": 1}]', "utf-8")
    with MockBroker(brokers=3, admin_port=0) as broker:
        assert broker.admin_url
        monkeypatch.setenv("MOCKBROKER_ADMIN", broker.admin_url)
        for command in commands[1:]:
            assert main(shlex.split(command, comments=True)[1:]) == 0
        assert capsys.readouterr().out.count("BROKER  RACK  STATE") == 4


def test_it_names_every_control() -> None:
    from mockbroker.testing.cluster_view import ClusterView

    page = PAGE.read_text("utf-8")
    names = [name for name in vars(ClusterView) if not name.startswith("_")]
    assert [name for name in names if name not in page] == []
