"""Running a command: where the broker is, and how it ends."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from mockbroker import MockBroker
from mockbroker.cli.main import main
from tests.support.real_brokers import until

if TYPE_CHECKING:
    from tests.mockbroker.cli.conftest import Shell


def test_address_and_token_come_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with MockBroker(topics=["t"], admin_port=0, admin_token="correct-horse") as broker:
        assert broker.admin_url
        monkeypatch.setenv("MOCKBROKER_ADMIN", broker.admin_url)
        assert main(["topics", "list"]) == 2
        assert "Bearer" in capsys.readouterr().err
        monkeypatch.setenv("MOCKBROKER_ADMIN_TOKEN", "correct-horse")
        assert main(["topics", "list"]) == 0
        assert capsys.readouterr().out.splitlines()[1].startswith("t ")


def test_following_prints_a_line_an_event(shell: Shell) -> None:
    assert shell.broker.admin_url
    words = ["journal", "follow", "--kinds", "topic", "--admin", shell.broker.admin_url]
    following = subprocess.Popen(
        [sys.executable, "-m", "mockbroker", *words], stdout=subprocess.PIPE, text=True
    )
    assert following.stdout is not None
    try:
        watched = shell.broker._bridged()
        until(lambda: watched.call(lambda _: watched.running.watched))
        shell("topics", "create", "followed")
        line = following.stdout.readline()
        assert line.startswith("topic ")
        assert '"followed"' in line
    finally:
        following.terminate()
        following.wait(20)
        following.stdout.close()
