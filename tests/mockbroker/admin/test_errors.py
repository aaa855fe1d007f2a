"""The admin API's own error, as the command line tells it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.admin.errors import AdminError
from mockbroker.cli.main import main

if TYPE_CHECKING:
    import pytest


def test_the_command_line_tells_it_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert issubclass(AdminError, Exception)
    arguments = ["serve", "--port", "0", "--admin-port", "0", "--admin-host", "0.0.0.0"]
    assert main(arguments) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("mockbroker: --admin-token: needed")
