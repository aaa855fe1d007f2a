"""Structured Streaming as a client: one query writes, another reads, while the broker has bad days.

The rows of the sink's files are each sent row once, whatever was met on the way: faults of the
broker, and a kill -9 of the reader between the plan of a batch and its commit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker import MockBroker
from mockbroker.pipeline.broker_client import BrokerClient
from tests.spark.conftest import kill_when
from tests.spark.parquet_sink import batches, start_reader

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

BATCHES = 4
ROWS = 500


def start_writer(
    spark: SparkSession, broker: MockBroker, topic: str, folder: Path
) -> StreamingQuery:
    """Each new file of the folder goes to the topic, one a batch."""
    rows = spark.readStream.schema("value STRING").option("maxFilesPerTrigger", 1)
    return (
        rows.text(str(folder / "in"))
        .selectExpr("value AS key", "value")
        .writeStream.format("kafka")
        .option("kafka.bootstrap.servers", broker.bootstrap_servers)
        .option("topic", topic)
        .option("checkpointLocation", str(folder / "writer"))
        .start()
    )


def add_faults(broker: MockBroker, topic: str) -> None:
    broker.faults.add({"preset": "session_evicted", "count": 2})
    broker.faults.add({"api": "Fetch", "reset": True, "count": 1})
    broker.faults.add({"preset": "leader_moved", "topic": topic, "count": 1})


def add_rows(folder: Path, batch: int) -> list[str]:
    """One more file for the writer, there at once."""
    rows = [f"{batch}-{number}" for number in range(ROWS)]
    part = folder / f"part-{batch}"
    part.write_text("\n".join(rows) + "\n")
    part.rename(folder / "in" / f"part-{batch}")
    return rows


def under_way(folder: Path) -> bool:
    """Whether the reader has committed something, and is in the middle of the next batch."""
    planned, committed = batches(folder)
    return planned > committed >= 1


def test_a_sink_holds_each_row_once_whatever_is_met(
    spark: SparkSession, topic: str, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    sent = []
    with MockBroker(topics={topic: 3}) as broker:
        address = broker.bootstrap_servers
        writer = start_writer(spark, broker, topic, tmp_path)
        for batch in range(2):
            sent += add_rows(tmp_path, batch)
        writer.processAllAvailable()
        add_faults(broker, topic)
        process = ["-m", "tests.spark.parquet_sink", address, topic, str(tmp_path)]
        kill_when(lambda: under_way(tmp_path), process)
        reader = start_reader(spark, address, topic, tmp_path)
        for batch in range(2, BATCHES):
            add_faults(broker, topic)
            sent += add_rows(tmp_path, batch)
            writer.processAllAvailable()
            if batch == BATCHES - 1:
                # Stopped wherever it is, it goes on from its checkpoint.
                reader.stop()
                reader = start_reader(spark, address, topic, tmp_path)
        reader.processAllAvailable()
        with BrokerClient(address) as client:
            assert sum(client.offsets(topic).values()) == len(sent)
        hits = [armed.hits for armed in broker.faults.list()]
        for query in (reader, writer):
            query.stop()
    assert sum(hits) >= BATCHES
    got = [row["value"] for row in spark.read.parquet(str(tmp_path / "out")).collect()]
    assert sorted(got) == sorted(sent)
