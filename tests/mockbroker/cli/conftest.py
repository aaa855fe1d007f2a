"""One broker with an admin port a module, and commands run against it in this process."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from mockbroker import MockBroker
from mockbroker.cli.main import main

if TYPE_CHECKING:
    from collections.abc import Iterator


class Shell:
    """Runs `mockbroker WORDS`."""

    def __init__(self, broker: MockBroker, capsys: pytest.CaptureFixture[str]) -> None:
        self.broker = broker
        self._capsys = capsys

    def __call__(self, *words: str) -> tuple[int, str, str]:
        """Status, standard output, standard error."""
        assert self.broker.admin_url
        status = main([*words, "--admin", self.broker.admin_url])
        out, err = self._capsys.readouterr()
        return status, out, err

    def data(self, *words: str) -> Any:
        """What a command that succeeds prints as JSON."""
        status, out, err = self(*words, "--json")
        assert (status, err) == (0, "")
        return json.loads(out)

    def refused(self, *words: str) -> str:
        """The one line of a command that fails."""
        status, out, err = self(*words)
        assert (status, out) == (2, "")
        (line,) = err.splitlines()
        return line.removeprefix("mockbroker: ")


@pytest.fixture(scope="module")
def broker() -> Iterator[MockBroker]:
    with MockBroker(topics={"orders": 2}, admin_port=0) as running:
        yield running
        running.reset()  # a rule of the last test that never fired is no mistake here


@pytest.fixture
def shell(broker: MockBroker, capsys: pytest.CaptureFixture[str]) -> Shell:
    broker.reset()
    return Shell(broker, capsys)
