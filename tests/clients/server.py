"""Our broker in a process of its own, from its one line on standard output to its clean end."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from tests.clients import login

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]


@contextmanager
def serving(folder: Path, *arguments: str, plain: bool = False) -> Iterator[str]:
    """The bootstrap address; the server's log and ready file are in `folder`.

    `plain`: its listener wants no login, whatever MOCKBROKER_TEST_SECURITY says.
    """
    ready_file, log = folder / "ready.json", folder / "log"
    listener = [] if plain else login.options(arguments)
    command = [sys.executable, "-m", "mockbroker", "serve", *(listener or ("--port", "0"))]
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
            with login.known(ready) if listener else nullcontext():
                yield ready["bootstrap"]
        finally:
            process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0, log.read_text()
