"""A broker of Apache Kafka in a process of its own, whose controller is ours."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from typing import TYPE_CHECKING, Self

from confluent_kafka.admin import AdminClient

from scripts.bench.wire import java_libs
from tests.support.jvm import SHORT_LIVED_JVM

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mockbroker.testing.mock_broker import MockBroker

DEADLINE_SECONDS = 120.0


class RealBroker:
    """A broker alone (process.roles=broker); `with` starts it, and stops it cleanly.

    `address` is HOST:PORT of its listener. KAFKA_VERSION picks the release.
    """

    def __init__(self, ours: MockBroker, folder: Path, node_id: int = 2, *configs: str) -> None:
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self.address = f"127.0.0.1:{probe.getsockname()[1]}"
        self.node_id = node_id
        self._ours = ours
        self._log = folder / f"log-{node_id}"
        self._process: subprocess.Popen[bytes] | None = None
        self._properties = folder / f"server-{node_id}.properties"
        lines = (
            "process.roles=broker",
            f"node.id={node_id}",
            f"controller.quorum.bootstrap.servers={ours.controller_servers}",
            f"listeners=PLAINTEXT://{self.address}",
            "controller.listener.names=CONTROLLER",
            f"log.dirs={folder / f'data-{node_id}'}",
            "offsets.topic.replication.factor=1",
            *configs,
        )
        self._properties.write_text("\n".join(lines))
        formatting = ["format", "--cluster-id", ours.cluster_id, "--config", str(self._properties)]
        subprocess.run([*_java(), "kafka.tools.StorageTool", *formatting], check=True)

    def start(self) -> None:
        """Start it, and wait until our clients are told of it and it takes their connections."""
        with self._log.open("ab") as output:
            self._process = subprocess.Popen(
                [*_java(), "kafka.Kafka", str(self._properties)], stdout=output, stderr=output
            )
        until(self._serves)

    def stop(self) -> None:
        """Let it shut down, the controlled way."""
        self._signal(signal.SIGTERM)
        self._wait()

    def kill(self) -> None:
        """End it without a word."""
        self._signal(signal.SIGKILL)
        self._wait()

    def pause(self) -> None:
        """Let it do nothing, though its connections stay; its last thread has stopped then."""
        self._signal(signal.SIGSTOP)
        assert self._process is not None
        os.waitid(os.P_PID, self._process.pid, os.WSTOPPED)

    def resume(self) -> None:
        """Let it go on."""
        self._signal(signal.SIGCONT)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self.resume()
            self.stop()

    def _signal(self, number: int) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def _wait(self) -> None:
        assert self._process is not None
        self._process.wait(DEADLINE_SECONDS)
        self._process = None

    def _serves(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, self._log.read_text()
        admin = AdminClient({"bootstrap.servers": self._ours.bootstrap_servers})
        return self.node_id in admin.list_topics(timeout=10).brokers and self._listens()

    def _listens(self) -> bool:
        """Whether its port is open: its acceptors start after it is unfenced."""
        host, port = self.address.split(":")
        with socket.socket() as probe:
            return probe.connect_ex((host, int(port))) == 0


def _java() -> list[str]:
    logging = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
    return ["java", "-Xmx400m", *SHORT_LIVED_JVM.split(), logging, "-cp", f"{java_libs()}/*"]


def until(condition: Callable[[], bool]) -> None:
    """Wait for what other processes do."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not condition():
        assert time.monotonic() < deadline
