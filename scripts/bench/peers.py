"""The brokers that a benchmark runs: ours, kfake (Go) and Apache Kafka, each as a process.

Beside them `echo`, which is no broker: what the event loop alone can do.

Ours runs a second time, compiled, after `scripts/compile`. Called by the benchmarks beside it. A
peer that this machine cannot run (no Go, no JVM) is left out by name. Only processes that were
started here are ended.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT: Final = Path(__file__).resolve().parents[2]
BUILD: Final = ROOT / ".tools" / "bench"
COMPILED: Final = ROOT / "build" / "compiled"
PEERS: Final = ("mockbroker", "compiled", "kfake", "kafka")
API_VERSIONS: Final = struct.pack(">ihhih5s", 15, 18, 0, 60, 5, b"bench")


class Peer:
    """A running broker: its name, `HOST:PORT` and process id."""

    def __init__(self, name: str, address: str, pid: int, *, is_encrypted: bool = False) -> None:
        self.is_encrypted = is_encrypted
        self.name = name
        self.address = address
        self.pid = pid

    def cpu_seconds(self) -> float:
        """User and system time that the process has used."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def resident_mb(self) -> float:
        """Resident memory in MB."""
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def note(line: str) -> None:
    """Progress, for the person who waits."""
    print(line, file=sys.stderr, flush=True)


def free_port() -> int:
    """A loopback port that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def available() -> list[str]:
    """The peers that this machine can run."""
    names = ["mockbroker"]
    if (COMPILED / ".built").exists():
        names.append("compiled")
    else:
        note("left out: mockbroker compiled (needs scripts/compile)")
    if shutil.which("go"):
        names.append("kfake")
    else:
        note("left out: kfake (needs Go)")
    if shutil.which("java") and (shutil.which("mvn") or list(ROOT.glob(".tools/kafka-*/complete"))):
        names.append("kafka")
    else:
        note("left out: Apache Kafka (needs a JRE and Maven)")
    return names


def build_go() -> Path:
    """Build the load generator and kfake; returns the directory of both."""
    BUILD.mkdir(parents=True, exist_ok=True)
    command = ["go", "build", "-o", f"{BUILD}/", "./..."]
    subprocess.run(command, cwd=ROOT / "scripts/bench/go", check=True)
    return BUILD


def answers(address: str, *, is_encrypted: bool = False) -> bool:
    """Whether an ApiVersions request is answered."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=5) as plain:
            connection = plain
            if is_encrypted:
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
                context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
                connection = context.wrap_socket(plain)
            connection.sendall(API_VERSIONS)
            return len(connection.recv(64)) > 8
    except OSError:
        return False


def command_for(name: str, port: int) -> list[str]:
    """The command line that starts one of the peers which are plain processes."""
    if name in {"mockbroker", "compiled"}:
        return [
            sys.executable,
            "-m",
            "mockbroker",
            "serve",
            "--port",
            str(port),
            "--log-level",
            "error",
        ]
    if name == "echo":
        return [sys.executable, "-m", "scripts.bench.echo", str(port)]
    return [str(BUILD / "kfake"), "-port", str(port)]


@contextlib.contextmanager
def run_peer(name: str, config: Mapping[str, str] | None = None) -> Iterator[Peer]:
    """One broker on a free loopback port, ready; ended afterwards."""
    port = free_port()
    address = f"127.0.0.1:{port}"
    settings = [f"{key}={value}" for key, value in (config or {}).items()]
    if name == "kafka":
        with run_kafka(port, settings) as pid:
            yield Peer(name, address, pid)
        return
    if name in ("mockbroker", "compiled"):
        with run_ours([f"--set={each}" for each in settings], name) as ours:
            yield ours
        return
    with run_process(name, command_for(name, port), port, ROOT) as other:
        yield other


@contextlib.contextmanager
def run_encrypted_peer(name: str) -> Iterator[Peer]:
    """As `run_peer`, with one listener that has TLS; all of them have the same certificate."""
    from mockbroker.server.certificates import Authority

    port = free_port()
    now = datetime.now(UTC)
    made = Authority(now).issue("localhost", ("localhost", "127.0.0.1"), timedelta(days=1))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "server.pem"
        file.write_text(made.key + made.certificate)
        store = ["ssl.keystore.type=PEM", f"ssl.keystore.location={file}"]
        if name == "kafka":
            plain, controller = free_port(), free_port()
            listeners = f"PLAINTEXT://127.0.0.1:{plain},SSL://127.0.0.1:{port}"
            more = {
                "listeners": f"{listeners},CONTROLLER://127.0.0.1:{controller}",
                "advertised.listeners": listeners,
                "controller.quorum.voters": f"1@127.0.0.1:{controller}",
                "listener.security.protocol.map": (
                    "PLAINTEXT:PLAINTEXT,SSL:SSL,CONTROLLER:PLAINTEXT"
                ),
                **dict(each.split("=", 1) for each in store),
            }
            with run_kafka(plain, [f"{key}={value}" for key, value in more.items()]) as pid:
                yield Peer(name, f"127.0.0.1:{port}", pid, is_encrypted=True)
            return
        if name in ("kfake", "echo"):
            shown = ["-pem"] if name == "kfake" else []
            command, where = [*command_for(name, port), *shown, str(file)], ROOT
        else:
            sets = [f"--set={each}" for each in store]
            listener = ["--listener", f"SSL://127.0.0.1:{port}"]
            base = command_for(name, port)
            at = base.index("--port")
            command = [*base[:at], *base[at + 2 :], *listener, *sets]
            where = COMPILED if name == "compiled" else ROOT
        with run_process(name, command, port, where, is_encrypted=True) as peer:
            yield peer


@contextlib.contextmanager
def run_kafka(port: int, settings: list[str]) -> Iterator[int]:
    """An Apache Kafka whose listener at `port` has no TLS; its process id."""
    script = str(ROOT / "scripts" / "kafka")
    subprocess.run([script, "start", str(port), *settings], check=True, stdout=sys.stderr)
    try:
        yield int((ROOT / ".tools/run" / f"kafka-{port}" / "pid").read_text())
    finally:
        subprocess.run([script, "stop", str(port)], check=True, stdout=sys.stderr)


@contextlib.contextmanager
def run_ours(options: list[str], name: str = "mockbroker") -> Iterator[Peer]:
    """Ours, with more options."""
    port = free_port()
    where = COMPILED if name == "compiled" else ROOT
    with run_process(name, [*command_for(name, port), *options], port, where) as peer:
        yield peer


@contextlib.contextmanager
def run_process(
    name: str, command: list[str], port: int, where: Path, *, is_encrypted: bool = False
) -> Iterator[Peer]:
    """A peer that is a process from `where`, once it answers; ended afterwards."""
    address = f"127.0.0.1:{port}"
    found = {**os.environ, "PYTHONPATH": f"{where}{os.pathsep}{where / 'protocol'}"}
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(command, cwd=where, env=found, stdout=log, stderr=log)
        try:
            _await(process, address, is_encrypted=is_encrypted)
            yield Peer(name, address, process.pid, is_encrypted=is_encrypted)
        finally:
            process.terminate()
            process.wait(60)  # a journal is written to its end


def _await(process: subprocess.Popen[bytes], address: str, *, is_encrypted: bool) -> None:
    deadline = time.monotonic() + 10
    while not answers(address, is_encrypted=is_encrypted):
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"{process.args!r} did not answer on {address}")
        time.sleep(0.005)


def load(peer: Peer, scenario: str, **options: object) -> dict[str, float]:
    """Run one scenario of the load generator; its figures, and the CPU it cost the broker."""
    command = [str(BUILD / "loadgen"), "-addr", peer.address, "-scenario", scenario]
    command += [f"-{option}={value}" for option, value in options.items()]
    if peer.is_encrypted:
        command.append("-tls")
    if peer.name == "echo":
        command.append("-echo")
    before = peer.cpu_seconds()
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode:
        raise RuntimeError(f"{peer.name}: {done.stderr.strip()}")
    figures: dict[str, float] = json.loads(done.stdout)
    figures["cpu_s"] = peer.cpu_seconds() - before
    return figures
