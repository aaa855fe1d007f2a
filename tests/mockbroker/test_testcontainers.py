"""What MockBrokerContainer starts: the engine is played by this test, the broker is real."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka.admin import AdminClient
from testcontainers.core import container as engine_side
from testcontainers.core.config import testcontainers_config

from mockbroker.testcontainers import ADMIN_PORT, INSIDE_PORT, OUTSIDE_PORT, MockBrokerContainer
from tests.support.free_ports import free_ports
from tests.support.sources import PYTHONPATH

if TYPE_CHECKING:
    from collections.abc import Iterator


ROOT = Path(__file__).resolve().parents[2]


class Engine:
    """Stands in for docker: what would be a container is a process of this machine.

    Port numbers of the container are those of `ports` here, and /tmp is `folder`.
    """

    def __init__(self, folder: Path, ports: dict[int, int]) -> None:
        self.folder = folder
        self.ports = ports
        self.created: dict[str, Any] = {}
        self.image = ""
        self.process: subprocess.Popen[bytes] | None = None
        self.client = self

    # -- as testcontainers' DockerClient

    def create(self, image: str, **options: Any) -> Engine:
        self.image = image
        self.created = options
        return self

    def start(self, container: Engine) -> None:
        shell, option, program = self.created["entrypoint"]
        environment = dict(self.created["environment"])
        for inside, here in self.ports.items():
            listeners = environment["MOCKBROKER_LISTENER"].replace(f":{inside}", f":{here}")
            environment["MOCKBROKER_LISTENER"] = listeners
        environment["MOCKBROKER_ADMIN_PORT"] = str(self.ports[ADMIN_PORT])
        script = self.folder / "mockbroker"
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m mockbroker "$@"\n')
        script.chmod(0o755)
        environment["PYTHONPATH"] = PYTHONPATH
        environment["PATH"] = f"{self.folder}:{os.environ['PATH']}"
        self.process = subprocess.Popen(
            [shell, option, program.replace("/tmp/", f"{self.folder}/")],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def close(self) -> None: ...

    # -- as docker's Container

    short_id = id = "abc"

    def put_archive(self, path: str, data: bytes) -> bool:
        assert path == "/tmp"
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            archive.extractall(self.folder, filter="data")
        return True

    def reload(self) -> None: ...

    @property
    def status(self) -> str:
        return "running" if self.process is None or self.process.poll() is None else "exited"

    def logs(self, *, stdout: bool = True, stderr: bool = True) -> bytes:
        return b"a line of the log\n"

    def remove(self, **options: Any) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(20) == 0
        (self.folder / "mockbroker.advertised").unlink()


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    outside, inside, admin = free_ports(3)
    ports = {OUTSIDE_PORT: outside, INSIDE_PORT: inside, ADMIN_PORT: admin}
    engine = Engine(tmp_path, ports)
    monkeypatch.setattr(engine_side, "DockerClient", lambda **options: engine)
    monkeypatch.setattr(testcontainers_config, "ryuk_disabled", True)
    monkeypatch.setattr(MockBrokerContainer, "get_container_host_ip", lambda self: "localhost")
    monkeypatch.setattr(
        MockBrokerContainer, "get_exposed_port", lambda self, port: engine.ports[port]
    )
    yield engine
    if engine.process is not None and engine.process.poll() is None:
        engine.process.kill()
        engine.process.wait()


def test_clients_on_the_host_are_told_its_port(engine: Engine) -> None:
    with MockBrokerContainer(
        topics={"orders": 6, "logs": None}, config={"num.partitions": "2"}
    ) as broker:
        assert broker.bootstrap_servers == f"localhost:{engine.ports[OUTSIDE_PORT]}"
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        told = admin.list_topics(timeout=20)
    (node,) = told.brokers.values()
    assert f"{node.host}:{node.port}" == f"localhost:{engine.ports[OUTSIDE_PORT]}"
    partitions = {name: len(topic.partitions) for name, topic in told.topics.items()}
    assert partitions == {"orders": 6, "logs": 2}


async def test_it_has_the_views_of_a_broker(engine: Engine) -> None:
    with MockBrokerContainer(topics={"orders": 1}) as broker:
        broker.topic("orders").put("one")
        with broker.scope():
            broker.topic("inner").create()
            broker.clock.advance(1000)
        assert broker.topics() == ["orders"]
        assert [one.value for one in await broker.aio.topic("orders").records()] == [b"one"]
        assert (broker.host, broker.port) == ("localhost", engine.ports[OUTSIDE_PORT])


def test_a_new_one_takes_its_place_with_nothing_of_the_first(engine: Engine) -> None:
    with MockBrokerContainer(topics={"orders": 1}) as broker:
        broker.topic("orders").put("one")
        broker.topic("inner").create()
        first, cluster_id = engine.process, broker.cluster_id
        outside, inside, admin = free_ports(3)
        engine.ports = {OUTSIDE_PORT: outside, INSIDE_PORT: inside, ADMIN_PORT: admin}
        broker.restart()
        assert engine.process is not first
        assert broker.cluster_id != cluster_id
        assert (broker.topics(), broker.topic("orders").records()) == (["orders"], [])
        assert broker.bootstrap_servers == f"localhost:{outside}"


def test_what_is_created_can_be_changed_as_any_container(engine: Engine) -> None:
    with MockBrokerContainer("registry.test/mockbroker:1", name="broker").with_env(
        "MOCKBROKER_SEED", "7"
    ):
        pass
    assert engine.image == "registry.test/mockbroker:1"
    assert engine.created["name"] == "broker"
    assert engine.created["ports"] == {str(OUTSIDE_PORT): None, str(ADMIN_PORT): None}
    assert engine.created["environment"]["MOCKBROKER_SEED"] == "7"


def test_a_broker_that_does_not_come_up_is_told_with_its_log(
    engine: Engine,
) -> None:
    container = MockBrokerContainer().with_env("MOCKBROKER_PORT", "1")  # not beside a listener
    with pytest.raises(TimeoutError, match=r"(?s)does not answer.*a line of the log"):
        container.start()
