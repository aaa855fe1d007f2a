"""The brokers of the cases, each started when a test first needs it and stopped at the end.

MOCKBROKER_TEST_KAFKA=HOST:PORT names an Apache Kafka 4.4 that runs already with the configs below.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import pytest

from mockbroker.security.authorizer import STANDARD_AUTHORIZER
from mockbroker.testing.mock_broker import MockBroker
from tests.clients.server import ROOT, serving
from tests.fetch_cases.raft_target import RaftTarget, controller_of_kafka, controller_of_ours
from tests.fetch_cases.replica_target import (
    CONFIGS,
    RACKS,
    KafkaReplicas,
    OurReplicas,
    ReplicaTarget,
)
from tests.fetch_cases.target import KAFKA, OURS, Target, TimedTarget
from tests.support.jvm import SHORT_LIVED_JVM

if TYPE_CHECKING:
    from collections.abc import Iterator

KAFKA_VERSION = "4.4.0"
OLD_KAFKA_VERSION = "3.9.2"
PROFILE = ("mockbroker.version.profile=4.4",)
# Batches of a transaction are appended without its coordinator.
UNVERIFIED = "transaction.partition.verification.enable"
# Some records are as old as their timestamps say.
KEPT = "log.retention.ms=-1"
# A broker is shared by modules that may run ten minutes apart, and so is a connection to it.
PATIENT = "connections.max.idle.ms=86400000"
KAFKA_CONFIGS = (KEPT, PATIENT, f"{UNVERIFIED}=false")
SMALL = ("max.incremental.fetch.session.cache.slots=8", "fetch.max.bytes=1024")
# The metadata log stands still unless a case moves it.
SILENT = ("metadata.max.idle.interval.ms=0",)
TOO_FEW_SLOTS = ("max.incremental.fetch.session.cache.slots=7",)
AUTHORIZED = (
    f"authorizer.class.name={STANDARD_AUTHORIZER}",
    "allow.everyone.if.no.acl.found=true",
)
PURPOSES = {"small": SMALL, "too few slots": TOO_FEW_SLOTS, "authorized": AUTHORIZED}

EACH = [pytest.param(OURS), pytest.param(KAFKA, marks=pytest.mark.kafka)]


class Brokers:
    """All brokers of a session, by kind and what they are for."""

    def __init__(self, factory: pytest.TempPathFactory) -> None:
        self._factory = factory
        self._stack = ExitStack()
        self._targets: dict[tuple[str, str], Target] = {}

    def get(self, kind: str, purpose: str = "") -> Target:
        known = self._targets.get((kind, purpose))
        if known is None:
            known = self._start(kind, purpose)
            self._stack.callback(known.close)
            self._targets[kind, purpose] = known
        return known

    def close(self) -> None:
        self._stack.close()

    def _start(self, kind: str, purpose: str) -> Target:
        if purpose == "raft":
            return self._start_raft(kind)
        if purpose == "replicas":
            return self._start_replicas(kind)
        if purpose == "timed":
            return self.get(KAFKA) if kind == KAFKA else self._start_timed()
        configs = PURPOSES.get(purpose, ())
        if kind == KAFKA:
            version = OLD_KAFKA_VERSION if purpose == "old" else KAFKA_VERSION
            return Target(KAFKA, self._stack.enter_context(kafka(version, *configs)))
        if purpose != "old":
            configs = (*configs, *PROFILE, f"{UNVERIFIED}=false")
        options = [f"--set={config}" for config in (*configs, KEPT)]
        folder = self._factory.mktemp("ours")
        return Target(OURS, self._stack.enter_context(serving(folder, *options)))

    def _start_timed(self) -> Target:
        config = {"mockbroker.version.profile": "4.4"}
        return TimedTarget(self._stack.enter_context(MockBroker(config=config, freeze_clock=True)))

    def _start_raft(self, kind: str) -> RaftTarget:
        if kind == KAFKA:
            address = self._stack.enter_context(kafka(KAFKA_VERSION, *SILENT))
            controller = controller_of_kafka(address)
            assert controller is not None
            return RaftTarget(KAFKA, address, controller)
        folder = self._factory.mktemp("raft")
        options = [f"--set={config}" for config in (*SILENT, *PROFILE)]
        address = self._stack.enter_context(serving(folder, "--controller-port=0", *options))
        return RaftTarget(OURS, address, controller_of_ours(folder))

    def _start_replicas(self, kind: str) -> ReplicaTarget:
        if kind == KAFKA:
            configs = [f"{name}={value}" for name, value in CONFIGS.items()]
            address = self._stack.enter_context(
                kafka(KAFKA_VERSION, *configs, f"broker.rack={RACKS[0]}")
            )
            controller = controller_of_kafka(address)
            assert controller is not None
            return KafkaReplicas(address, controller)
        config = {"mockbroker.version.profile": "4.4", **CONFIGS}
        broker = MockBroker(brokers=len(RACKS), racks=RACKS, config=config)
        return OurReplicas(self._stack.enter_context(broker))


@pytest.fixture(scope="session")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Brokers]:
    found = Brokers(tmp_path_factory)
    yield found
    found.close()


@pytest.fixture(params=EACH)
def target(request: pytest.FixtureRequest, brokers: Brokers) -> Iterator[Target]:
    """Ours as a process that serves 4.4's versions, and Apache Kafka 4.4."""
    found = brokers.get(request.param)
    yield found
    found.close_readers()


@pytest.fixture(params=EACH)
def timed_target(request: pytest.FixtureRequest, brokers: Brokers) -> Iterator[Target]:
    """As `target`, but on ours time passes when a case says so, and only then."""
    found = brokers.get(request.param, "timed")
    yield found
    found.close_readers()


@pytest.fixture(params=EACH)
def replicas(request: pytest.FixtureRequest, brokers: Brokers) -> Iterator[ReplicaTarget]:
    """Broker 1 of two; the other one is driven by hand."""
    found = brokers.get(request.param, "replicas")
    assert isinstance(found, ReplicaTarget)
    yield found
    found.close_readers()


@pytest.fixture
def lonely(replicas: ReplicaTarget) -> Iterator[ReplicaTarget]:
    """The same; a case may fence broker 2, which comes back when the test is over."""
    yield replicas
    replicas.find_follower()


@pytest.fixture(params=EACH)
def small_target(request: pytest.FixtureRequest, brokers: Brokers) -> Iterator[Target]:
    """One session slot a shard; answers of at most 1024 bytes."""
    found = brokers.get(request.param, "small")
    yield found
    found.close_readers()


@pytest.fixture(params=EACH)
def slotless_target(request: pytest.FixtureRequest, brokers: Brokers) -> Iterator[Target]:
    """Seven session slots, which is none for each of eight shards."""
    found = brokers.get(request.param, "too few slots")
    yield found
    found.close_readers()


@pytest.fixture(params=EACH)
def authorized_target(request: pytest.FixtureRequest, brokers: Brokers) -> Iterator[Target]:
    """With an authorizer that allows all that no ACL is about."""
    found = brokers.get(request.param, "authorized")
    yield found
    found.close_readers()


@pytest.fixture(params=EACH)
def raft_target(request: pytest.FixtureRequest, brokers: Brokers) -> Iterator[RaftTarget]:
    """A node that is broker and controller, and whose metadata log stands still."""
    found = brokers.get(request.param, "raft")
    assert isinstance(found, RaftTarget)
    yield found
    found.close_readers()


@pytest.fixture(params=EACH)
def old_target(request: pytest.FixtureRequest, brokers: Brokers) -> Iterator[Target]:
    """Ours with all its versions, and Apache Kafka 3.9, which serves Fetch from v0."""
    found = brokers.get(request.param, "old")
    yield found
    found.close_readers()


@contextmanager
def kafka(version: str, *configs: str) -> Iterator[str]:
    running = os.environ.get("MOCKBROKER_TEST_KAFKA")
    if running and version == KAFKA_VERSION and not configs:
        yield running
        return
    if not (shutil.which("java") and shutil.which("mvn")):
        pytest.skip("needs a JRE and Maven")
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = str(probe.getsockname()[1])
    command = [str(ROOT / "scripts" / "kafka")]
    environment = os.environ | {
        "KAFKA_VERSION": version,
        "KAFKA_HEAP_OPTS": "-Xmx320m",
        "KAFKA_JVM_PERFORMANCE_OPTS": SHORT_LIVED_JVM,
    }
    subprocess.run([*command, "start", port, *KAFKA_CONFIGS, *configs], env=environment, check=True)
    try:
        yield f"127.0.0.1:{port}"
    finally:
        subprocess.run([*command, "stop", port], check=True)
