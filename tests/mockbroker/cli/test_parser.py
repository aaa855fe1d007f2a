"""What the commands accept."""

from __future__ import annotations

import subprocess
import sys

import pytest

from mockbroker.cli.main import main
from mockbroker.cli.parser import COMMANDS


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_has_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main([command, "--help"])
    assert exit_.value.code == 0
    assert "examples:" in capsys.readouterr().out


def test_a_verb_that_is_missing_or_unknown_is_status_2(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for words in (["topics"], ["topics", "paint"], ["clock", "advance"]):
        with pytest.raises(SystemExit) as exit_:
            main(words)
        assert exit_.value.code == 2
        assert capsys.readouterr().err.startswith("mockbroker: ")


def test_serving_imports_no_command() -> None:
    code = (
        "import sys; from mockbroker.cli import main\n"
        "main._build_parser(with_commands=False)\n"
        "print([name for name in sys.modules if name.startswith('mockbroker.cli')])"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30
    )
    assert found.stdout.strip() == (
        "['mockbroker.cli', 'mockbroker.cli.serve', 'mockbroker.cli.main']"
    )
