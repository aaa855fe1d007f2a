"""Both brokers' answers to the script, each broker started once and fresh.

The Apache Kafka comes from scripts/kafka. MOCKBROKER_TEST_KAFKA=HOST:PORT names one that runs
already; it must be fresh and have the configs below.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from tests.clients.server import ROOT, serving
from tests.differential.normalise import Symbols, normalise
from tests.differential.run import Runner
from tests.differential.script import make_script
from tests.support.jvm import SHORT_LIVED_JVM

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.differential.trees import Tree

# The version whose ranges `mockbroker.version.profile=4.4` advertises.
KAFKA_VERSION = "4.4.0"
# Old timestamps in the script must not run into retention; a transaction's timeout is noticed soon.
CONFIGS = (
    "log.retention.ms=-1",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms=500",
    # The answers of consumer groups must not depend on who is quicker.
    "group.consumer.assignment.interval.ms=0",
    "group.consumer.assignor.offload.enable=false",
)
OURS = (
    "mockbroker.version.profile=4.4",
    # What scripts/kafka writes into the properties file.
    "group.initial.rebalance.delay.ms=0",
    "offsets.topic.replication.factor=1",
    "transaction.state.log.replication.factor=1",
    "transaction.state.log.min.isr=1",
    "share.coordinator.state.topic.replication.factor=1",
    "share.coordinator.state.topic.min.isr=1",
    "mockbroker.group.settling.heartbeat.interval.ms=0",
)

Transcript = list[tuple["Tree", "Tree"]]


def transcript(bootstrap: str) -> Transcript:
    """For each step of the script the request, and the answer without what may differ."""
    script = make_script()
    symbols = Symbols()
    return [
        (outcome.request, normalise(outcome.api, outcome.answer, symbols))
        for outcome in Runner(bootstrap).run(script)
    ]


@pytest.fixture(scope="session")
def kafkas() -> Iterator[Transcript]:
    """What Apache Kafka answers."""
    with kafka() as bootstrap:
        yield transcript(bootstrap)


@pytest.fixture(scope="session")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Transcript]:
    """What this broker answers."""
    settings = [f"--set={setting}" for setting in (*CONFIGS, *OURS)]
    with serving(tmp_path_factory.mktemp("ours"), *settings) as bootstrap:
        yield transcript(bootstrap)


@contextmanager
def kafka(*configs: str, version: str = KAFKA_VERSION, port: int | None = None) -> Iterator[str]:
    """A fresh Apache Kafka with these configs, those of the script if there are none.

    `port` is that of its first listener, which wants no login; None: any free one.
    """
    running = None if configs else os.environ.get("MOCKBROKER_TEST_KAFKA")
    if running:
        yield running
        return
    if not (shutil.which("java") and shutil.which("mvn")):
        pytest.skip("needs a JRE and Maven")
    if port is None:
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
    command = [str(ROOT / "scripts" / "kafka")]
    environment = os.environ | {
        "KAFKA_VERSION": version,
        "KAFKA_JVM_PERFORMANCE_OPTS": SHORT_LIVED_JVM,
    }
    configs = configs or CONFIGS
    subprocess.run([*command, "start", str(port), *configs], env=environment, check=True)
    try:
        yield f"127.0.0.1:{port}"
    finally:
        subprocess.run([*command, "stop", str(port)], check=True)


def kafka_libs() -> str:
    """The class path of Apache Kafka itself, for tests that run its classes."""
    if not (shutil.which("java") and shutil.which("mvn")):
        pytest.skip("needs a JDK and Maven")
    environment = os.environ | {"KAFKA_VERSION": KAFKA_VERSION}
    subprocess.run([str(ROOT / "scripts" / "kafka"), "fetch"], env=environment, check=True)
    return str(ROOT / ".tools" / f"kafka-{KAFKA_VERSION}" / "libs" / "*")
