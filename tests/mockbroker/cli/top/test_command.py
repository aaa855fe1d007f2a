"""`mockbroker top` where nothing is drawn."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING

import pytest

from mockbroker import MockBroker
from mockbroker.admin.client import AdminClient
from mockbroker.cli.errors import CommandError
from mockbroker.cli.main import main
from mockbroker.cli.top import command

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def broker() -> Iterator[MockBroker]:
    with MockBroker(topics={"orders": 2}, admin_port=0) as running:
        yield running


def run(broker: MockBroker, *words: str) -> int:
    assert broker.admin_url
    return main(["top", "--admin", broker.admin_url, "--interval", "100ms", *words])


def test_without_a_terminal_one_look_is_printed(
    broker: MockBroker, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(broker, "--view", "topics") == 0
    first, figures, blank, columns, row = capsys.readouterr().out.splitlines()
    assert first == f"mockbroker {broker.bootstrap_servers}"
    assert figures.startswith("brokers 1/1 ")
    assert (blank, columns.split()[0], row.split()[:2]) == ("", "TOPIC", ["orders", "2"])


def test_json_is_the_head_and_the_view(
    broker: MockBroker, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(broker, "--view", "topics", "--json", "--filter", "orders") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["brokers_up"] == 1
    assert [one["topic"] for one in found["topics"]] == ["orders"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--interval", "soon"), "--interval: 'soon' is no duration"),
        (("--interval", "1ms"), "--interval: '1ms'; allowed: 100ms and more"),
        (("--filter", "color=red"), "--filter: 'color=red'; allowed: words"),
    ],
)
def test_bad_options_are_one_line(
    broker: MockBroker, words: tuple[str, ...], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(broker, "--once", *words) == 2
    out, err = capsys.readouterr()
    assert (out, err.startswith(f"mockbroker: {told}")) == ("", True)


def test_nobody_there_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["top", "--once", "--admin", "http://127.0.0.1:1"]) == 2
    assert "does not answer" in capsys.readouterr().err


def given(**options: object) -> argparse.Namespace:
    plain = {"view": "topics", "filter": "", "interval": "100ms", "once": False, "json": False}
    return argparse.Namespace(**{**plain, **options})


def test_a_terminal_at_all_ends_gets_the_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    for stream in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(sys, stream, argparse.Namespace(isatty=lambda: True))
    assert command.is_screen(given())
    assert not command.is_screen(given(once=True))
    assert not command.is_screen(given(json=True))
    monkeypatch.setattr(sys, "stderr", argparse.Namespace(isatty=lambda: False))
    assert not command.is_screen(given())


def test_without_textual_the_extra_is_named(
    broker: MockBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert broker.admin_url
    monkeypatch.delitem(sys.modules, "mockbroker.cli.top.app", raising=False)
    monkeypatch.setitem(sys.modules, "textual", None)
    monkeypatch.setitem(sys.modules, "textual.app", None)
    with pytest.raises(CommandError, match=r"pip install 'mockbroker\[top\]'.*--once"):
        command.show(AdminClient(broker.admin_url, None), given())
