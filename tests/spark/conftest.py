"""Jobs as processes of their own, and what is done to them while they run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mockbroker import MockBroker
from mockbroker.pipeline.broker_client import BrokerClient
from mockbroker.pipeline.command import run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parents[2]
DEADLINE_SECONDS = 300.0
PAUSE_SECONDS = 0.2

collect_ignore = (
    [] if find_spec("pyspark") else ["test_cluster.py", "test_kills.py", "test_streaming.py"]
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.spark)
            item.add_marker(pytest.mark.timeout(600))
            item.add_marker(pytest.mark.filterwarnings("ignore::ResourceWarning"))
            unraisable = "ignore::pytest.PytestUnraisableExceptionWarning"
            item.add_marker(pytest.mark.filterwarnings(unraisable))


@pytest.fixture(scope="module")
def broker() -> Iterator[MockBroker]:
    """Records keep, however old their timestamps are."""
    with MockBroker(auto_create=False, config={"log.retention.ms": -1}) as running:
        yield running


@pytest.fixture
def topic() -> str:
    """A name that no other test uses."""
    return f"orders-{uuid.uuid4().hex[:12]}"


def command(*words: str) -> list[str]:
    """What Python is started with for a job that prints JSON."""
    return ["-m", "mockbroker", "pipeline", *words, "--json", "--no-progress"]


def run_job(*words: str, status: int = 0) -> dict[str, Any]:
    """The summary of a job that ran to its end with this status."""
    done = subprocess.run(
        [sys.executable, *command(*words)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
        check=False,
    )
    assert done.returncode == status, done.stderr + done.stdout
    summary: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return summary


def run_here(
    spark: SparkSession, capsys: pytest.CaptureFixture[str], *words: str, status: int = 0
) -> dict[str, Any]:
    """The same on the session that is there."""
    capsys.readouterr()
    assert run([*words, "--json"], spark) == status, capsys.readouterr().err
    summary: dict[str, Any] = json.loads(capsys.readouterr().out.splitlines()[-1])
    return summary


def pause() -> bool:
    """Leave the processor to others for a moment; false."""
    return threading.Event().wait(PAUSE_SECONDS)


def kill_when(holds: Callable[[], bool], words: list[str]) -> None:
    """Start Python with these words in a process group; kill -9 all of it once the condition holds.

    The group includes the JVM.
    """
    with subprocess.Popen(
        [sys.executable, *words], cwd=ROOT, start_new_session=True, stderr=subprocess.PIPE
    ) as process:
        try:
            deadline = time.monotonic() + DEADLINE_SECONDS
            # A tight loop would take the processor that the job needs.
            while not pause() and not holds():
                assert process.poll() is None, (process.stderr and process.stderr.read(), words)
                assert time.monotonic() < deadline
        finally:
            os.killpg(process.pid, signal.SIGKILL)


def grown_to(broker: MockBroker, topic: str, rows: int) -> Callable[[], bool]:
    """Whether the topic has at least so many records by now."""

    def look() -> bool:
        with BrokerClient(broker.bootstrap_servers) as client:
            if topic not in client.topics():
                return False
            return sum(client.offsets(topic).values()) >= rows

    return look
