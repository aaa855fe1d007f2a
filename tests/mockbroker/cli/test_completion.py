"""What a shell offers at TAB, and the scripts that ask for it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from mockbroker.cli.completion import SCRIPTS
from mockbroker.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path


def words(capsys: pytest.CaptureFixture[str], *before: str) -> list[str]:
    assert main(["completion", "words", "--", *before]) == 0
    return capsys.readouterr().out.split()


def test_commands_verbs_and_options_are_offered(capsys: pytest.CaptureFixture[str]) -> None:
    assert {"serve", "topics", "faults", "completion"} <= set(words(capsys))
    assert {"list", "create", "put"} <= set(words(capsys, "topics"))
    offered = words(capsys, "topics", "create", "orders", "--partitions", "3")
    assert "--set" in offered
    assert "--partitions" not in offered
    assert "--set" in words(capsys, "topics", "create", "orders", "--set", "a=b")
    assert "--port" in words(capsys, "serve", "--no-auto-create")


def test_a_value_is_not_guessed(capsys: pytest.CaptureFixture[str]) -> None:
    assert words(capsys, "serve", "--port") == []
    assert "--host" in words(capsys, "serve", "--port=9092")


def test_another_shell_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "tcsh"]) == 2
    assert capsys.readouterr().err == "mockbroker: completion: allowed: bash, zsh, fish\n"


@pytest.mark.parametrize("shell", SCRIPTS)
def test_each_script_asks_for_words(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert "mockbroker completion words -- " in script
    if shutil.which(shell):
        checked = subprocess.run(
            [shell, "-n"], check=False, input=script, text=True, capture_output=True
        )
        assert (checked.returncode, checked.stderr) == (0, "")


def test_bash_completes(tmp_path: Path) -> None:
    command = tmp_path / "mockbroker"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m mockbroker "$@"\n')
    command.chmod(0o755)
    program = (
        "source <(mockbroker completion bash); COMP_WORDS=(mockbroker topics cr); COMP_CWORD=2;"
        ' _mockbroker; echo "${COMPREPLY[@]}"'
    )
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    done = subprocess.run(
        ["bash", "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == "create\n"
