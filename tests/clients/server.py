"""Our broker in a process of its own, from its one line on standard output to its clean end."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]


@contextmanager
def serving(folder: Path, *arguments: str) -> Iterator[str]:
    """The bootstrap address; the server's log and ready file are in `folder`."""
    ready_file, log = folder / "ready.json", folder / "log"
    command = [sys.executable, "-m", "mockbroker", "serve", "--port", "0"]
    with (
        log.open("wb") as log_file,
        subprocess.Popen(
            [*command, "--ready-file", str(ready_file), *arguments],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=log_file,
        ) as process,
    ):
        assert process.stdout is not None
        try:
            # The one line on standard output says that it accepts connections.
            line = process.stdout.readline()
            assert line, f"the server did not start:\n{log.read_text()}"
            ready = json.loads(ready_file.read_text())
            assert ready["pid"] == process.pid
            yield ready["bootstrap"]
        finally:
            process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0, log.read_text()
