"""The process: the ready line, the ready file, signals, and how a failure to start is told."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from mockbroker.app import write_whole

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Served:
    """A `serve` process and what it said when it was ready."""

    def __init__(self, process: subprocess.Popen[str], line: str) -> None:
        self.process = process
        self.line = line


def serve(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "mockbroker", "serve", *arguments]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8"
    )


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    process = serve("--port", "0", "--ready-file", str(tmp_path / "ready.json"))
    assert process.stdout is not None
    yield Served(process, process.stdout.readline())
    process.kill()
    process.communicate()


def test_the_ready_line_and_the_ready_file_agree(served: Served, tmp_path: Path) -> None:
    facts = json.loads((tmp_path / "ready.json").read_text())
    host, _, port = facts["bootstrap"].rpartition(":")
    assert facts["pid"] == served.process.pid
    assert facts["brokers"] == [{"id": 1, "host": host, "port": int(port)}]
    assert len(facts["cluster_id"]) == 22
    assert served.line == (
        f"mockbroker ready bootstrap={facts['bootstrap']} cluster_id={facts['cluster_id']}"
        f" pid={served.process.pid}\n"
    )
    with socket.create_connection((host, int(port)), timeout=5):
        pass


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_with_status_0(served: Served, number: signal.Signals) -> None:
    served.process.send_signal(number)
    out, err = served.process.communicate(timeout=5)
    assert (served.process.returncode, out) == (0, "")
    assert "Traceback" not in err


def test_a_busy_port_is_one_line_and_status_2() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        process = serve("--port", str(port))
        out, err = process.communicate(timeout=20)
    assert (process.returncode, out) == (2, "")
    assert err.count("\n") == 1
    assert err.startswith(f"mockbroker: --host 127.0.0.1 --port {port}: cannot listen there")
    assert "--port 0" in err


@pytest.mark.parametrize(
    ("arguments", "needle"),
    [
        (["--set", "log.retention.msx=5"], "log.retention.msx"),
        (["--set", "num.partitions=none"], "num.partitions"),
        (["--ready-file", "/no/such/place/ready.json"], "--ready-file /no/such/place/ready.json"),
        (["--topic", "orders:x"], "--topic orders:x"),
        (["--host", "no.such.host.invalid"], "--host no.such.host.invalid"),
    ],
)
def test_what_is_wrong_is_one_line_and_status_2(arguments: list[str], needle: str) -> None:
    process = serve("--port", "0", *arguments)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out) == (2, "")
    assert err.count("\n") == 1
    assert needle in err


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "ready.json"
    write_whole(str(target), "first\n")
    write_whole(str(target), "second\n")
    assert target.read_text() == "second\n"
    with pytest.raises(FileNotFoundError):
        write_whole(str(tmp_path / "none" / "ready.json"), "x")
    assert list(tmp_path.iterdir()) == [target]
