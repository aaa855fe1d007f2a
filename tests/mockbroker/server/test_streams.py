"""Streams that are closed or full, in a process of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import os, sys
from mockbroker.server.streams import open_closed, write_line
closed = open_closed()
error = write_line("hello")
first = os.open(os.devnull, os.O_RDONLY)
with open(sys.argv[1], "w") as out:
    print(closed, None if error is None else error.strerror, first > 2, file=out)
"""


def outcome(tmp_path: Path, redirections: str) -> str:
    out = tmp_path / "out"
    words = [sys.executable, "-c", PROGRAM, str(out)]
    command = ["/bin/bash", "-c", f'"$@" {redirections}', "bash", *words]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, env=environment, check=False)
    assert done.returncode == 0
    return out.read_text().strip()


def test_open_streams_are_left_alone(tmp_path: Path) -> None:
    assert outcome(tmp_path, ">/dev/null") == "[] None True"


def test_closed_streams_lead_to_the_null_device(tmp_path: Path) -> None:
    assert outcome(tmp_path, "<&- >&- 2>&-") == "['stdin', 'stdout', 'stderr'] None True"


def test_what_cannot_be_written_is_told_and_not_tried_again(tmp_path: Path) -> None:
    assert outcome(tmp_path, ">/dev/full") == "[] No space left on device True"
