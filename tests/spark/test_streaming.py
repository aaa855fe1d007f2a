"""Structured Streaming as a client: one query writes, another reads, while the broker has bad days.

The rows of the sink's files are each sent row once, whatever was met on the way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker import MockBroker
from mockbroker.pipeline.broker_client import BrokerClient

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


def start_reader(
    spark: SparkSession, broker: MockBroker, topic: str, folder: Path
) -> StreamingQuery:
    """The topic goes to Parquet, at most so many records a batch."""
    return (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", broker.bootstrap_servers)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", 300)
        .option("kafka.isolation.level", "read_committed")
        .load()
        .selectExpr("cast(value AS STRING) AS value", "partition", "offset")
        .writeStream.format("parquet")
        .option("path", str(folder / "out"))
        .option("checkpointLocation", str(folder / "reader"))
        .start()
    )


def test_a_sink_holds_each_row_once_whatever_is_met(
    spark: SparkSession, topic: str, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    sent = []
    with MockBroker(topics={topic: 3}) as broker:
        writer = start_writer(spark, broker, topic, tmp_path)
        reader = start_reader(spark, broker, topic, tmp_path)
        for batch in range(BATCHES):
            broker.faults.add({"preset": "session_evicted", "count": 2})
            broker.faults.add({"api": "Fetch", "reset": True, "count": 1})
            broker.faults.add({"preset": "leader_moved", "topic": topic, "count": 1})
            rows = [f"{batch}-{number}" for number in range(ROWS)]
            sent += rows
            part = tmp_path / f"part-{batch}"
            part.write_text("\n".join(rows) + "\n")
            part.rename(tmp_path / "in" / f"part-{batch}")
            writer.processAllAvailable()
            if batch == 1:
                # The reader is stopped wherever it is, and goes on from its checkpoint.
                reader.stop()
                reader = start_reader(spark, broker, topic, tmp_path)
        reader.processAllAvailable()
        with BrokerClient(broker.bootstrap_servers) as client:
            assert sum(client.offsets(topic).values()) == len(sent)
        hits = {armed.id: armed.hits for armed in broker.faults.list()}
        for query in (reader, writer):
            query.stop()
    assert sum(hits.values()) >= BATCHES
    got = [row["value"] for row in spark.read.parquet(str(tmp_path / "out")).collect()]
    assert sorted(got) == sorted(sent)
