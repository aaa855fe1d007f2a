"""The same jobs over Spark Connect: this process has no JVM, a server does the work."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest
from pyarrow import parquet

from mockbroker import MockBroker
from mockbroker.pipeline.command import run
from mockbroker.pipeline.connector import connector_conf
from mockbroker_protocol.messages.fetch import (
    FetchRequest,
    FetchRequestPartition,
    FetchRequestTopic,
    FetchResponse,
)
from tests.mockbroker.pipeline.analyze.conftest import written
from tests.mockbroker.pipeline.analyze.test_spark_engine import equal
from tests.spark.conftest import await_line, command, rows_of, run_there, spark_daemon, summaries
from tests.support.blocking import BlockingConnection

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
ROWS = 2_000
NOTEBOOK = """
import json, sys
from pyspark.sql import SparkSession
from mockbroker.pipeline import notebook
from mockbroker.pipeline.errors import PipelineError
remote, journal, out = sys.argv[1:]
session = SparkSession.builder.remote(remote).getOrCreate()
print(notebook.run(session, "what-if", journal, sessions="off", out=out).as_json())
try:
    notebook.run(session, "analyze", journal, follow=True, out=out + "-report")
except PipelineError as error:
    print(json.dumps({"error": str(error)}))
session.stop()
"""


@pytest.fixture(scope="module")
def remote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server with the connector's jars."""
    if find_spec("grpc") is None:
        pytest.skip("needs pyspark[connect]")
    folder = tmp_path_factory.mktemp("connect") / "server"
    words = [
        "--master",
        "local[2]",
        "--class",
        SERVER,
        "--jars",
        connector_conf(None)["spark.jars"],
    ]
    for setting in (
        "spark.ui.enabled=false",
        "spark.sql.shuffle.partitions=4",
        "spark.connect.grpc.binding.address=127.0.0.1",
        "spark.connect.grpc.binding.port=0",
    ):
        words += ["--conf", setting]
    with spark_daemon(folder, "spark-submit", *words, "spark-internal") as log:
        port = await_line(log, r"SparkConnectService\S*' on port (\d+)")
        await_line(log, r"(Spark Connect server started)")
        yield f"sc://127.0.0.1:{port}"


def test_the_jobs_run_over_connect(
    remote: str, broker: MockBroker, topic: str, tmp_path: Path
) -> None:
    where = ["--bootstrap", broker.bootstrap_servers, "--topic", topic]
    source, state = str(tmp_path / "source.parquet"), ["--checkpoint", str(tmp_path / "state")]
    columns = ["--key", "key", "--value", "value", "--order-by", "id"]
    load = ["load", source, *where, *columns, "--create", "3", *state]
    out = tmp_path / "out"
    dump = ["dump", str(tmp_path / "new"), *where, "--checkpoint", str(tmp_path / "offsets")]
    told = run_there(
        {"remote": remote},
        ["synth", f"--rows={ROWS}", "--output", source],
        load,
        load,
        ["dump", str(out), *where],
        dump,
        dump,
        ["verify", source, *where, *columns],
    )
    assert [job["rows"] for job in told] == [ROWS, ROWS, 0, ROWS, ROWS, 0, ROWS]
    assert {job["bytes"] for job in told if job["rows"]} == {told[0]["bytes"]}
    kinds = ("missing", "extra", "doubled", "reordered")
    assert [told[-1][kind] for kind in kinds] == [0, 0, 0, 0]
    sent = rows_of(tmp_path / "source.parquet", "value")
    assert [rows_of(folder, "value") for folder in (out, tmp_path / "new")] == [sent, sent]


def test_journals_are_analyzed_over_connect(remote: str, tmp_path: Path) -> None:
    """Every cell is what the embedded engine finds."""
    _, _, words = written(tmp_path)
    there, here = tmp_path / "there", tmp_path / "here"
    run_there({"remote": remote}, ["analyze", *words, "--out", str(there)])
    assert run(["analyze", *words, "--out", str(here), "--engine", "embedded"]) == 0
    equal(there, here)


def test_a_topology_is_simulated_over_connect(remote: str, tmp_path: Path) -> None:
    """The server's executors are sent the code; the figures are those of this machine's."""
    words = ["topology", "--brokers=3", "--partitions=6", "--seconds=2", "--sizes=1", "--out"]
    there, here = tmp_path / "there", tmp_path / "here"
    run_there({"remote": remote}, [*words, str(there)])
    assert run([*words, str(here), "--engine", "embedded"]) == 0
    for name in ("brokers", "totals"):
        found = [parquet.read_table(out / "tables" / name).to_pylist() for out in (there, here)]
        assert found[0] == found[1], name


def test_a_journal_is_run_again_over_connect(remote: str, tmp_path: Path) -> None:
    """A notebook's own session, of Connect."""
    journal = tmp_path / "journal"
    with (
        MockBroker(topics={"orders": 2}, journal=journal, journal_replay=True) as recorded,
        BlockingConnection(recorded.bootstrap_servers) as connection,
    ):
        for epoch in range(3):
            partitions = [FetchRequestPartition(n, partition_max_bytes=100) for n in (0, 1)]
            topics = [FetchRequestTopic("orders", partitions=partitions)]
            connection.send(FetchRequest(session_epoch=min(epoch, 0), topics=topics), 11)
            assert connection.receive(FetchResponse).error_code == 0
    there, here = tmp_path / "there", tmp_path / "here"
    words = [sys.executable, "-c", NOTEBOOK, remote, str(journal), str(there)]
    ((again, followed), _) = summaries(words)
    assert again["rows"] == 3
    assert followed["error"].startswith("--follow: a Spark Connect server does not see")
    words = ["what-if", str(journal), "--sessions=off", "--out", str(here)]
    assert run([*words, "--engine", "embedded"]) == 0
    for name in ("changes", "totals", "brokers", "clients"):
        found = [parquet.read_table(out / "tables" / name).to_pylist() for out in (there, here)]
        assert found[0] == found[1], name


def test_what_needs_the_jvm_is_one_line(remote: str, broker: MockBroker, topic: str) -> None:
    where = ["--bootstrap", broker.bootstrap_servers, "--remote", remote]
    job = command("synth", *where, "--topic", topic, "--create", "1")
    _, error = summaries([sys.executable, *job], status=2)
    assert (
        error
        == "mockbroker: --timestamp does not work over Spark Connect: submit the job instead\n"
    )
