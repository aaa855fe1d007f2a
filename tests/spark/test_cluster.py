"""The same jobs on a standalone cluster: a master and two workers, each a process of its own."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from pyarrow import parquet

import mockbroker.pipeline.__main__ as entry
from mockbroker import MockBroker
from mockbroker.pipeline.command import run
from mockbroker.pipeline.connector import connector_conf
from tests.spark.conftest import (
    ROOT,
    SPARK_BIN,
    await_line,
    rows_of,
    run_here,
    run_there,
    spark_daemon,
    summaries,
)
from tests.support.journal_lines import Journal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

WORKERS = 2
ROWS = 5_000
STREAM = [f"--rows={ROWS}", "--seed=3", "--skew=1.1", "--poison=0.01", "--jitter-ms=50"]
RECORD = ("partition", "timestamp", "key", "value", "headers")
CONF = {
    "spark.driver.host": "127.0.0.1",
    "spark.executor.memory": "512m",
    "spark.sql.shuffle.partitions": "4",
}


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a master that two workers of one core each have joined."""
    folder = tmp_path_factory.mktemp("cluster")
    here = ["--host", "127.0.0.1", "--webui-port", "0"]
    deploy = "org.apache.spark.deploy"
    with contextlib.ExitStack() as running:
        words = [f"{deploy}.master.Master", *here, "--port", "0"]
        log = running.enter_context(spark_daemon(folder / "master", "spark-class", *words))
        url = await_line(log, r"Starting Spark master at (spark://\S+)")
        size = ["--cores", "1", "--memory", "600m"]
        for number in range(WORKERS):
            words = [f"{deploy}.worker.Worker", *here, *size, url]
            running.enter_context(spark_daemon(folder / f"worker{number}", "spark-class", *words))
        await_line(log, rf"(?s)(?:Registering worker .*){{{WORKERS}}}()")
        yield url


@pytest.fixture(scope="module")
def journals(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A journal of one client that polls, and waits, and gets something."""
    journal = Journal()
    journal.session(10.0, "opened")
    journal.fetch(10.0, fetch={"class": "FULL", "session_id": 0}, partitions=({},))
    journal.fetch(20.0, 500.0, cause="timeout")
    journal.fetch(530.0, 5.0, cause="data", partitions=({"bytes": 100, "high_watermark": 1},))
    return str(journal.write(tmp_path_factory.mktemp("journals")))


def jobs(broker: MockBroker, topic: str, journals: str, out: Path) -> list[list[str]]:
    """A stream into a topic, out to files, into another topic; is it there? A page of plots."""
    where = ["--bootstrap", broker.bootstrap_servers]
    again = ["--key", "key", "--value", "value", "--timestamp", "timestamp", "--headers", "headers"]
    rest = [*where, "--format", "parquet", "--topic", f"{topic}-again", *again]
    return [
        ["synth", *where, *STREAM, "--topic", topic, "--create", "3"],
        ["dump", str(out / "dump"), *where, "--topic", topic],
        ["load", str(out / "dump"), *rest, "--create", "3", "--partition", "partition"],
        ["verify", str(out / "dump"), *rest],
        ["analyze", journals, "--out", str(out / "report")],
    ]


def test_the_same_jobs_give_the_same_tables(
    master: str,
    spark: SparkSession,
    broker: MockBroker,
    topic: str,
    journals: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    near, far = tmp_path / "near", tmp_path / "far"
    here = [
        run_here(spark, capsys, *words)
        for words in jobs(broker, f"{topic}-near", journals, near)[:2]
    ]
    there = run_there(
        {"master": master, "conf": CONF}, *jobs(broker, f"{topic}-far", journals, far)
    )
    assert [job["job"] for job in there] == ["synth", "dump", "load", "verify", "analyze"]
    counts = [
        [(job["rows"], job["bytes"]) for job in told] for told in (there[:3], [*here, here[1]])
    ]
    assert counts[0] == counts[1]
    kinds = ("expected", "actual", "missing", "extra", "doubled")
    assert [there[3][kind] for kind in kinds] == [ROWS, ROWS, 0, 0, 0]
    found = rows_of(far / "dump", *RECORD)
    assert len(found) == ROWS
    assert found == rows_of(near / "dump", *RECORD)
    fetches = parquet.read_table(far / "report" / "tables" / "fetch_clients").to_pylist()
    assert {row["class"]: row["fetches"] for row in fetches} == {"FULL": 1, "INCREMENTAL": 2}
    words = [journals, "--out", str(near / "report"), "--engine", "embedded"]
    assert run(["analyze", *words]) == 0
    tables = sorted(path.name for path in (near / "report" / "tables").iterdir())
    for name in tables:
        on_cluster, embedded = (
            parquet.read_table(out / "report" / "tables" / name).to_pylist() for out in (far, near)
        )
        assert on_cluster == embedded, name


def test_brokers_of_a_topology_are_spread_over_executors(master: str, tmp_path: Path) -> None:
    words = ["topology", "--brokers=6", "--partitions=60", "--consumers=6", "--seconds=20"]
    told = []
    for cores in ("1", "2"):
        conf = {**CONF, "spark.pyspark.python": sys.executable, "spark.cores.max": cores}
        out = ["--sizes=1", "--out", str(tmp_path / cores), "--json"]
        (summary,) = run_there({"master": master, "conf": conf}, [*words, *out])
        told.append(summary["totals"])
    here = ["--engine=embedded", "--sizes=1", "--out", str(tmp_path / "here"), "--json"]
    assert run([*words, *here]) == 0
    embedded = parquet.read_table(tmp_path / "here" / "tables" / "totals").to_pylist()
    assert told[0] == told[1] == embedded


@pytest.mark.filterwarnings("ignore:(read|open)_text is deprecated")  # by kafka-python
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_brokers_of_a_journal_are_spread_over_executors(master: str, tmp_path: Path) -> None:
    from kafka import KafkaConsumer

    journal = tmp_path / "journal"
    with MockBroker(
        brokers=3, topics={"orders": 6}, journal=journal, journal_replay=True
    ) as recorded:
        consumers = [
            KafkaConsumer("orders", bootstrap_servers=recorded.bootstrap_servers, client_id=name)
            for name in ("one", "two")
        ]
        for consumer in consumers:
            consumer.poll(timeout_ms=1000)
            consumer.close()
    words = ["what-if", str(journal), "--sessions=off", "--json"]
    conf = {**CONF, "spark.pyspark.python": sys.executable}
    far_words = [*words, "--out", str(tmp_path / "far")]
    (far,) = run_there({"master": master, "conf": conf}, far_words)
    assert run([*words, "--engine=embedded", "--out", str(tmp_path / "here")]) == 0
    for name in ("changes", "totals", "kinds", "brokers", "clients"):
        there, here = (
            parquet.read_table(tmp_path / where / "tables" / name).to_pylist()
            for where in ("far", "here")
        )
        assert there == here, name
    brokers = parquet.read_table(tmp_path / "far" / "tables" / "brokers").to_pylist()
    assert {row["broker"] for row in brokers} == {1, 2, 3}
    assert far["changes"][0]["what_if"] > 0


def test_a_driver_without_mockbroker_is_given_it(
    master: str, broker: MockBroker, topic: str, journals: str, tmp_path: Path
) -> None:
    """The recipe of docs/pipeline.md: the wheel, as it is, is what --py-files takes."""
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--wheel-dir", str(tmp_path), str(ROOT)], check=True)
    (wheel,) = tmp_path.glob("mockbroker-*.whl")
    code = wheel.rename(tmp_path / "mockbroker.zip")
    job = tmp_path / "job.py"
    job.write_text(
        "import sys\nfrom mockbroker.pipeline import command\n"
        "assert command.__file__.startswith(sys.path[1] + '/mockbroker/'), command.__file__\n"
        "assert sys.path[1].endswith('mockbroker.zip')\n"
        "sys.exit(max(command.run([*words.split(), '--json']) for words in sys.argv[1:]))\n"
    )
    submit = [str(SPARK_BIN / "spark-submit"), "--master", master, "--py-files", str(code)]
    for key, value in {**CONF, "spark.pyspark.python": sys.executable}.items():
        submit += ["--conf", f"{key}={value}"]
    submit += ["--jars", connector_conf(None)["spark.jars"], str(job)]
    where = f"--bootstrap {broker.bootstrap_servers} --topic {topic}"
    told, _ = summaries(
        [
            *submit,
            f"synth {where} --rows=50 --create=1",
            f"dump {tmp_path / 'dump'} {where}",
            f"analyze {journals} --out {tmp_path / 'report'}",
            f"topology --brokers=3 --partitions=6 --seconds=2 --sizes=1 --out {tmp_path / 'all'}",
        ]
    )
    assert [(job["job"], job["rows"]) for job in told[:2]] == [("synth", 50), ("dump", 50)]
    assert "<style>" in (tmp_path / "report" / "report.html").read_text("utf-8")
    assert parquet.read_table(tmp_path / "all" / "tables" / "brokers").num_rows == 12


def test_a_job_is_submitted(master: str, broker: MockBroker, topic: str) -> None:
    submit = [str(SPARK_BIN / "spark-submit"), "--master", master]
    for key, value in CONF.items():
        submit += ["--conf", f"{key}={value}"]
    submit += ["--jars", connector_conf(None)["spark.jars"], str(entry.__file__)]
    where = ["--bootstrap", broker.bootstrap_servers, "--topic", topic, "--json"]
    (made,), _ = summaries([*submit, "synth", *where, *STREAM, "--create", "3"])
    assert (made["rows"], made["status"]) == (ROWS, 0)
