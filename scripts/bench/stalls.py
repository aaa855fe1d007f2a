"""How long a neighbour waits while one request of another connection is worked on.

    scripts/bench/stalls [--kafka HOST:PORT] [--mockbroker HOST:PORT] [NAME...]

For each frame of `tests/support/heavy.py`, whose name has one of NAME in it, against each broker
in turn: the longest that a ping of another connection took meanwhile, and how the frame was
answered. Servers must have a topic `blk` of 100 partitions. Without --mockbroker one is started.
"""

from __future__ import annotations

import argparse
import socket
import struct
import subprocess
import sys
import threading
import time
from typing import Any

from tests.support.heavy import FULL, PARTITIONS, TOPIC, int32, request, text

PING = struct.pack(">ihhih", 10, 18, 0, 1, 0)


def connect(address: str, timeout: float = 240.0) -> socket.socket:
    host, _, port = address.rpartition(":")
    return socket.create_connection((host, int(port)), timeout=timeout)


def answer(sock: socket.socket) -> int:
    """Reads one answer; its size."""
    head = sock.recv(4, socket.MSG_WAITALL)
    if len(head) < 4:
        raise EOFError
    left = size = int.from_bytes(head, "big")
    while left:
        data = sock.recv(min(1 << 20, left))
        if not data:
            raise EOFError
        left -= len(data)
    return size


class Neighbour:
    """Pings a broker every few milliseconds from a thread."""

    def __init__(self, address: str) -> None:
        self.worst = 0.0
        self._sock = connect(address)
        self._stopped = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stopped:
            begun = time.perf_counter()
            try:
                self._sock.sendall(PING)
                answer(self._sock)
            except (OSError, EOFError):
                self.worst = float("inf")
                return
            self.worst = max(self.worst, time.perf_counter() - begun)
            time.sleep(0.003)

    def stop(self) -> float:
        self._stopped = True
        self._thread.join()
        self._sock.close()
        return self.worst


def measure(address: str, frame: bytes) -> dict[str, Any]:
    """One frame against one broker."""
    with connect(address) as warm:  # what is imported at a first request is not what is measured
        warm.sendall(PING)
        answer(warm)
    neighbour = Neighbour(address)
    time.sleep(0.1)
    begun = time.perf_counter()
    with connect(address) as sock:
        try:
            sock.sendall(frame)
            outcome = f"{answer(sock):,} B"
        except (OSError, EOFError):
            outcome = "closed"
    took = time.perf_counter() - begun
    time.sleep(0.2)
    return {"worst_ms": neighbour.stop() * 1000, "took_s": took, "outcome": outcome}


def create_topic(address: str) -> None:
    with connect(address) as sock:
        topic = text(TOPIC) + struct.pack(">ihii", PARTITIONS, 1, 0, 0)
        sock.sendall(request(19, 2, int32(1) + topic + struct.pack(">ib", 5000, 0)))
        answer(sock)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kafka", help="an Apache Kafka beside it")
    parser.add_argument("--mockbroker", help="one that runs; else one is started")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    process = None
    if options.mockbroker is None:
        process, options.mockbroker = serve()
    try:
        table(options)
    finally:
        if process is not None:
            process.terminate()
            process.wait()


def serve() -> tuple[subprocess.Popen[str], str]:
    """A mockbroker in a process of its own, and where it listens."""
    command = [sys.executable, "-m", "mockbroker", "serve", "--port", "0", "--log-level", "error"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    ready = process.stdout.readline()
    return process, ready.partition("bootstrap=")[2].split()[0]


def table(options: argparse.Namespace) -> None:
    """Print a row for each frame."""
    brokers = {"mockbroker": options.mockbroker}
    if options.kafka:
        brokers["Apache Kafka"] = options.kafka
    for address in brokers.values():
        create_topic(address)
    print("| frame | MB |", " | ".join(f"{name}: wait, took, answer" for name in brokers), "|")
    for name, build in FULL.items():
        if options.names and not any(one in name for one in options.names):
            continue
        frame = build()
        cells = []
        for address in brokers.values():
            try:
                found = measure(address, frame)
            except (OSError, EOFError) as error:
                cells.append(f"gone: {error}")
                continue
            cells.append(f"{found['worst_ms']:.0f} ms, {found['took_s']:.2f} s, {found['outcome']}")
        print(f"| {name} | {len(frame) / 1e6:.2f} |", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
