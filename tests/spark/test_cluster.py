"""The same jobs on a standalone cluster: a master and two workers, each a process of its own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING

import pyspark
import pytest

from mockbroker.pipeline.session import connector_jars
from tests.spark.conftest import DEADLINE_SECONDS, run_job

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mockbroker import MockBroker

SPARK_CLASS = str(Path(pyspark.__file__).parent / "bin" / "spark-class")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a master that two workers have joined."""
    folder = tmp_path_factory.mktemp("cluster")
    port, page = free_port(), free_port()
    url = f"spark://127.0.0.1:{port}"
    base = ["--host", "127.0.0.1"]
    commands = [["master.Master", *base, "--port", str(port), "--webui-port", str(page)]]
    for number in range(2):
        work = str(folder / f"work{number}")
        ports = ["--webui-port", "0", "--work-dir", work, "--cores", "1", "--memory", "1g"]
        commands.append(["worker.Worker", *base, *ports, url])
    environment = {**os.environ, "SPARK_DAEMON_MEMORY": "256m", "SPARK_LOCAL_IP": "127.0.0.1"}
    processes = []
    try:
        for number, words in enumerate(commands):
            with (folder / f"log{number}").open("wb") as log:
                processes.append(
                    subprocess.Popen(
                        [SPARK_CLASS, f"org.apache.spark.deploy.{words[0]}", *words[1:]],
                        stdout=log,
                        stderr=log,
                        env=environment,
                        start_new_session=True,
                    )
                )
        await_workers(f"http://127.0.0.1:{page}/json/", 2)
        yield url
    finally:
        for process in processes:
            os.killpg(process.pid, signal.SIGTERM)
        for process in processes:
            process.wait(20)


def await_workers(page: str, count: int) -> None:
    deadline = time.monotonic() + DEADLINE_SECONDS
    alive = 0
    while alive < count:
        assert time.monotonic() < deadline, f"{alive} of {count} workers joined"
        try:
            with urllib.request.urlopen(page, timeout=5) as answer:
                alive = answer.read().count(b'"ALIVE"') - 1
        except OSError:
            alive = 0


def test_the_same_jobs_give_the_same_tables(
    master: str, broker: MockBroker, topic: str, tmp_path: Path
) -> None:
    assert connector_jars(None)
    where = ["--bootstrap", broker.bootstrap_servers]
    there = ["--master", master, "--conf", "spark.driver.host=127.0.0.1"]
    there += ["--conf", "spark.executor.memory=512m"]
    spec = ["--rows", "20000", "--seed", "3", "--skew", "1.1", "--poison", "0.01"]
    far, near = f"{topic}-far", f"{topic}-near"
    made = run_job("synth", *where, *there, *spec, "--topic", far, "--create", "3")
    assert made["rows"] == 20_000
    run_job("synth", *where, *spec, "--topic", near, "--create", "3", "--master", "local[1]")
    compare = ["--topic", far, "--expected-topic", near]
    assert run_job("verify", *where, *there, *compare)["status"] == 0
    out = str(tmp_path / "out")
    run_job("dump", out, *where, *there, "--topic", far)
    columns = ["--key", "key", "--value", "value", "--headers", "headers"]
    run_job("verify", out, *where, *columns, "--topic", near, "--format", "parquet")
