"""kill -9 in the middle of a job: the same command again, and nothing is lost or doubled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.pipeline.broker_client import BrokerClient
from tests.spark.conftest import command, grown_to, kill_when, run_here

if TYPE_CHECKING:
    from pathlib import Path

    import pytest
    from pyspark.sql import SparkSession

    from mockbroker import MockBroker

ROWS = 40_000


def test_a_load_that_was_killed_goes_on_in_order(
    spark: SparkSession,
    broker: MockBroker,
    topic: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    source = tmp_path / "in.csv"
    # Every row is there twice: content alone does not tell them apart.
    lines = [f"k{n % 17},{n // 2}" for n in range(ROWS)]
    source.write_text("\n".join(["k,v", *lines]) + "\n")
    where = ["--bootstrap", broker.bootstrap_servers]
    columns = ["--key", "k", "--value", "v", "--keep-order"]
    load = ["load", str(source), *where, *columns, "--topic", topic, "--create", "3"]
    load += ["--checkpoint", str(tmp_path / "state")]
    slowly = command(*load, "--rate", "4000", "--master", "local[2]")
    kill_when(grown_to(broker, topic, 2_000), slowly)
    with BrokerClient(broker.bootstrap_servers) as client:
        there = sum(client.offsets(topic).values())
    assert 2_000 <= there < ROWS
    again = run_here(spark, capsys, *load)
    assert again["rows"] == ROWS - there
    verified = run_here(spark, capsys, "verify", str(source), *where, *columns, "--topic", topic)
    assert [verified[kind] for kind in ("missing", "extra", "doubled", "reordered")] == [0, 0, 0, 0]
    assert verified["actual"] == ROWS


def test_a_stream_that_was_killed_dumps_each_record_once(
    spark: SparkSession,
    broker: MockBroker,
    topic: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    where = ["--bootstrap", broker.bootstrap_servers]
    run_here(spark, capsys, "synth", *where, "--topic", topic, "--create", "3", "--rows", str(ROWS))
    out = tmp_path / "out"
    dump = ["dump", str(out), *where, "--topic", topic, "--checkpoint", str(tmp_path / "state")]
    # The first data file is there: its batch is under way and not committed, or just so.
    kill_when(lambda: any(out.glob("*.parquet")), command(*dump, "--master", "local[2]"))
    run_here(spark, capsys, *dump)
    words = ["--key", "key", "--value", "value", "--headers", "headers", "--timestamp", "timestamp"]
    verified = run_here(
        spark, capsys, "verify", str(out), *where, *words, "--topic", topic, "--format", "parquet"
    )
    assert (verified["expected"], verified["actual"]) == (ROWS, ROWS)
