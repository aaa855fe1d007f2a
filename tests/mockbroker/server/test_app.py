"""The process: the ready line, the ready file, signals, and how a failure to start is told."""

from __future__ import annotations

import json
import shlex
import signal
import socket
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from mockbroker.server.app import write_whole
from mockbroker.state.snapshot_file import load
from mockbroker_protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from tests.support.blocking import BlockingConnection

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Served:
    """A `serve` process and what it said when it was ready."""

    def __init__(self, process: subprocess.Popen[str], line: str) -> None:
        self.process = process
        self.line = line


def in_shell(redirections: str, *arguments: str) -> subprocess.Popen[str]:
    """A `serve` process behind a shell's redirections or limits."""
    words = shlex.join([sys.executable, "-m", "mockbroker", "serve", *arguments])
    return subprocess.Popen(
        ["/bin/bash", "-c", redirections.replace("SERVE", f"exec {words}")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )


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


WARM_UP = """
import sys, threading
from mockbroker.server.app import READ_AHEAD, WARMED_UP, warm_up
assert not set(WARMED_UP) & set(sys.modules), "a start imports them"
warm_up()
for thread in threading.enumerate():
    if thread.name == "mockbroker-warm-up":
        thread.join()
print(sorted(set(WARMED_UP) - set(sys.modules)), READ_AHEAD in sys.modules)
"""


def test_what_a_start_leaves_out_is_imported_by_a_thread() -> None:
    command = [sys.executable, "-c", WARM_UP]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[] False\n", "")


def test_the_ready_file_has_the_addresses_that_clients_are_told(tmp_path: Path) -> None:
    ready_file = tmp_path / "ready.json"
    arguments = ["--port", "0", "--brokers", "2", "--advertised-host", "kafka.test"]
    process = serve(*arguments, "--ready-file", str(ready_file))
    assert process.stdout is not None
    process.stdout.readline()
    facts = json.loads(ready_file.read_text())
    process.kill()
    process.communicate()
    ports = [int(each.rpartition(":")[2]) for each in facts["bootstrap"].split(",")]
    assert facts["brokers"] == [
        {"id": node_id, "host": "kafka.test", "port": port}
        for node_id, port in zip((1, 2), ports, strict=True)
    ]


def test_the_ready_file_says_where_certificates_are(tmp_path: Path) -> None:
    pytest.importorskip("cryptography", reason="the extra tls is not installed")
    ready_file = tmp_path / "ready.json"
    process = serve("--port", "0", "--tls", "auto", "--ready-file", str(ready_file))
    assert process.stdout is not None
    process.stdout.readline()
    facts = json.loads(ready_file.read_text())["tls"]
    folder = facts["folder"]
    assert facts["ca"] == f"{folder}/ca.pem"
    assert facts["clients"] == {"client": f"{folder}/client.pem"}
    process.terminate()
    process.communicate()
    assert process.returncode == 0


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


def test_a_controller_port_that_is_taken_is_one_line_that_names_it() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        process = serve("--port", "0", "--controller-port", str(port))
        out, err = process.communicate(timeout=20)
    assert (process.returncode, out) == (2, "")
    assert err.startswith(f"mockbroker: --host 127.0.0.1 --controller-port {port}: cannot listen")
    assert err.count("\n") == 1


def test_a_controllers_listener_stands_in_the_ready_file(tmp_path: Path) -> None:
    ready_file = tmp_path / "ready.json"
    process = serve("--port", "0", "--controller-port", "0", "--ready-file", str(ready_file))
    assert process.stdout is not None
    process.stdout.readline()
    host, _, port = json.loads(ready_file.read_text())["controller"].rpartition(":")
    with socket.create_connection((host, int(port)), timeout=5):
        pass
    process.kill()
    process.communicate()


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


def test_what_it_held_is_there_again_after_a_restart(tmp_path: Path) -> None:
    config, state = tmp_path / "broker.toml", tmp_path / "state.zip"
    (tmp_path / "orders.jsonl").write_text('{"id": 7}\n{"id": 8}\n')
    config.write_text('[topics.orders]\npartitions = 3\nseed = "orders.jsonl"\n')
    first = serve("--port", "0", "--config", str(config), "--snapshot", str(state))
    assert first.stdout is not None
    assert first.stdout.readline().startswith("mockbroker ready")
    first.send_signal(signal.SIGTERM)
    first.communicate(timeout=20)
    assert first.returncode == 0
    snapshot = load(str(state))
    assert [(one.name, len(one.partitions)) for one in snapshot.topics] == [("orders", 3)]
    again = tmp_path / "again.zip"
    second = serve("--port", "0", "--restore", str(state), "--snapshot", str(again))
    assert second.stdout is not None
    assert second.stdout.readline().startswith("mockbroker ready")
    second.send_signal(signal.SIGTERM)
    second.communicate(timeout=20)
    logs = [[part.log for part in one.topics[0].partitions] for one in (snapshot, load(str(again)))]
    assert logs[0] == logs[1]
    assert sum(log.log_end_offset for log in logs[0]) == 2


def test_a_topic_that_cannot_be_made_is_one_line_and_status_2(tmp_path: Path) -> None:
    config = tmp_path / "broker.toml"
    config.write_text('[topics.orders.config]\n"no.such" = 1\n')
    process = serve("--port", "0", "--config", str(config))
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out) == (2, "")
    assert err.startswith("mockbroker: topics.orders: topic orders: Unknown topic config")
    assert err.count("\n") == 1


def test_listeners_are_published_by_name_and_strange_variables_are_warned_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_LISTENERS", "INSIDE://:0,OUTSIDE://:0,CONTROLLER://:9093")
    monkeypatch.setenv("KAFKA_NO_SUCH_THING", "1")
    monkeypatch.setenv("CLUSTER_ID", "4L6g3nShT-eMCtK--X86sw")
    process = serve("--kafka-env", "--ready-file", str(tmp_path / "ready.json"))
    assert process.stdout is not None
    assert "cluster_id=4L6g3nShT-eMCtK--X86sw" in process.stdout.readline()
    facts = json.loads((tmp_path / "ready.json").read_text())
    assert facts["bootstrap"] == facts["listeners"]["INSIDE"] != facts["listeners"]["OUTSIDE"]
    assert set(facts["listeners"]) == {"INSIDE", "OUTSIDE"}
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=20)
    assert (process.returncode, err.count("\n")) == (0, 1)
    assert json.loads(err)["variable"] == "KAFKA_NO_SUCH_THING"


def test_a_listener_that_cannot_be_bound_is_named() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        process = serve("--listener", "A://:0", "--listener", f"B://127.0.0.1:{port}")
        out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"mockbroker: --listener: B cannot listen on 127.0.0.1:{port}")


@pytest.mark.parametrize(
    ("redirections", "needle"),
    [
        ("SERVE >/dev/full", "standard output cannot be written: no ready line"),
        ("SERVE >&-", "it is closed"),
        ("SERVE <&- >&-", "it is closed"),
        ("SERVE 2>/dev/full", ""),
        ("SERVE 2>&-", ""),
    ],
)
def test_streams_that_cannot_be_written_are_a_line_at_most(redirections: str, needle: str) -> None:
    process = in_shell(redirections, "--port", "0", "--admin-port", "0")
    told = process.stderr if needle else process.stdout
    assert told is not None
    first = told.readline()
    process.terminate()
    out, err = process.communicate(timeout=20)
    assert process.returncode == 0
    assert needle in first if needle else first.startswith("mockbroker ready")
    assert (out, err) == ("", "")


def test_a_disk_that_fills_ends_the_journal_and_not_the_broker(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    process = in_shell("ulimit -f 20; SERVE", "--port", "0", "--journal", str(journal))
    assert process.stdout is not None
    ready = process.stdout.readline()
    with BlockingConnection(ready.split("bootstrap=")[1].split()[0]) as client:
        for _ in range(200):
            client.call(ApiVersionsRequest(), 0, ApiVersionsResponse)
    process.terminate()
    _, err = process.communicate(timeout=20)
    assert (process.returncode, err) == (
        0,
        f"mockbroker: journal in {journal}: file too large; it ends here\n",
    )
    (file,) = journal.iterdir()
    lines = file.read_text().splitlines()
    assert 10 < len(lines) < 200
    assert all(json.loads(line)["run"] for line in lines)
