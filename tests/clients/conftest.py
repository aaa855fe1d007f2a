"""The broker that the clients of this tier connect to: a server process, or one that runs.

MOCKBROKER_TEST_BOOTSTRAP=HOST:PORT points the tier at a broker that is there already, such as an
Apache Kafka: what a client test demands must hold there too.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import uuid
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="session")
def server_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The bootstrap address of a broker in a process of its own."""
    running = os.environ.get("MOCKBROKER_TEST_BOOTSTRAP")
    if running:
        yield running
        return
    folder = tmp_path_factory.mktemp("server")
    yield from serve(folder / "ready.json", folder / "log")


def serve(ready_file: Path, log: Path) -> Iterator[str]:
    command = [sys.executable, "-m", "mockbroker", "serve", "--port", "0"]
    with (
        log.open("wb") as log_file,
        subprocess.Popen(
            [*command, "--ready-file", str(ready_file)], stdout=subprocess.PIPE, stderr=log_file
        ) as process,
    ):
        assert process.stdout is not None
        # The one line on standard output says that it accepts connections.
        line = process.stdout.readline()
        if not line:
            pytest.fail(f"the server did not start:\n{log.read_text()}")
        ready = json.loads(ready_file.read_text())
        assert ready["pid"] == process.pid
        yield ready["bootstrap"]
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0, log.read_text()


@pytest.fixture
def topic() -> str:
    """A name that no other test uses, in this run or another against the same broker."""
    return f"orders-{uuid.uuid4().hex[:12]}"
