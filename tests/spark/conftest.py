"""Jobs and Spark's daemons as processes of their own, and what is done to them."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyarrow import parquet

from mockbroker import MockBroker
from mockbroker.pipeline.broker_client import BrokerClient
from mockbroker.pipeline.command import run
from tests.support.jvm import SHORT_LIVED_JVM
from tests.support.sources import PYTHONPATH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

Summary = dict[str, Any]

ROOT = Path(__file__).resolve().parents[2]
DEADLINE_SECONDS = 900.0
PAUSE_SECONDS = 0.2
PYSPARK = find_spec("pyspark")
SPARK_BIN = Path(str(PYSPARK and PYSPARK.origin)).parent / "bin"
ENVIRONMENT = {
    **os.environ,
    "JDK_JAVA_OPTIONS": SHORT_LIVED_JVM,
    "SPARK_LOCAL_IP": "127.0.0.1",
    # A driver of spark-submit starts in the folder of its script, not in this clone.
    "PYTHONPATH": PYTHONPATH,
}

# One session for all jobs: each would wait for executors of its own.
RUN_JOBS = """
import json, sys
from mockbroker.pipeline.command import run
from mockbroker.pipeline.session import SessionOptions, open_session
session = open_session(SessionOptions("jobs", **json.loads(sys.argv[1])))
status = max(run([*words, "--json"], session) for words in json.loads(sys.argv[2]))
session.stop()
sys.exit(status)
"""

collect_ignore_glob = [] if PYSPARK else ["test_*.py"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.spark)
            item.add_marker(pytest.mark.timeout(2000))
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


def run_here(
    spark: SparkSession, capsys: pytest.CaptureFixture[str], *words: str, status: int = 0
) -> Summary:
    """The summary of a job on the session that is there."""
    capsys.readouterr()
    assert run([*words, "--json"], spark) == status, capsys.readouterr().err
    summary: Summary = json.loads(capsys.readouterr().out.splitlines()[-1])
    return summary


def run_there(options: dict[str, object], *jobs: list[str], status: int = 0) -> list[Summary]:
    """What jobs tell in a process of their own, on one session with these `SessionOptions`."""
    words = [sys.executable, "-c", RUN_JOBS, json.dumps(options), json.dumps(jobs)]
    return summaries(words, status)[0]


def summaries(words: list[str], status: int = 0) -> tuple[list[Summary], str]:
    """What jobs in a process of their own told in JSON, and its standard error."""
    done = subprocess.run(
        words,
        cwd=ROOT,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
        check=False,
    )
    assert done.returncode == status, done.stderr + done.stdout
    told = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return told, done.stderr


def in_a_folder(folder: str | Path) -> dict[str, str]:
    """An environment whose temporary files are there: who is killed leaves them."""
    options = f"{SHORT_LIVED_JVM} -Djava.io.tmpdir={folder}"
    return {
        **ENVIRONMENT,
        "JDK_JAVA_OPTIONS": options,
        "SPARK_LOCAL_DIRS": str(folder),
        "TMPDIR": str(folder),
    }


@contextmanager
def spark_daemon(folder: Path, script: str, *words: str) -> Iterator[Path]:
    """A script of Spark, killed afterwards with all that it started; yields where it logs."""
    folder.mkdir()
    log = folder / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [str(SPARK_BIN / script), *words],
            cwd=folder,
            # A Spark Connect server is told by nothing else which Python its tasks take.
            env={**in_a_folder(folder), "PYSPARK_PYTHON": sys.executable},
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        try:
            yield log
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(DEADLINE_SECONDS)


def await_line(log: Path, pattern: str) -> str:
    """What the pattern's group is in a daemon's log, once it is there."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while True:
        text = log.read_text(errors="replace")
        found = re.search(pattern, text)
        if found:
            return found[1]
        assert time.monotonic() < deadline, text
        pause()


def rows_of(folder: Path, *columns: str) -> list[str]:
    """The rows of a folder of Parquet files, as sorted texts."""
    table = parquet.read_table(folder, columns=list(columns) or None)
    return sorted(map(repr, table.to_pylist()))


def pause() -> bool:
    """Leave the processor to others for a moment; false."""
    return threading.Event().wait(PAUSE_SECONDS)


def kill_when(holds: Callable[[], bool], words: list[str]) -> None:
    """Start Python with these words in a process group; kill -9 all of it once the condition holds.

    The group includes the JVM.
    """
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        subprocess.Popen(
            [sys.executable, *words],
            cwd=ROOT,
            env=in_a_folder(folder),
            start_new_session=True,
            stderr=subprocess.PIPE,
        ) as process,
    ):
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
