"""A query of Structured Streaming from a topic into Parquet, in a session or as a process.

    python -m tests.spark.parquet_sink BOOTSTRAP TOPIC FOLDER

runs until it is killed, which is what it is for.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from mockbroker.pipeline.session import SessionOptions, open_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

RECORDS_A_BATCH = 300


def start_reader(spark: SparkSession, bootstrap: str, topic: str, folder: Path) -> StreamingQuery:
    """The topic goes to `folder/out`, so many records a batch; progress is kept in the folder."""
    return (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", RECORDS_A_BATCH)
        .option("kafka.isolation.level", "read_committed")
        .load()
        .selectExpr("cast(value AS STRING) AS value", "partition", "offset")
        .writeStream.format("parquet")
        .option("path", str(folder / "out"))
        .option("checkpointLocation", str(folder / "reader"))
        .start()
    )


def batches(folder: Path) -> tuple[int, int]:
    """How many batches were planned, and how many of them are committed."""

    def count(name: str) -> int:
        return len([path for path in (folder / "reader" / name).glob("*") if path.name.isdigit()])

    # In this order: a batch that ends between the looks must not seem to be under way.
    planned = count("offsets")
    return planned, count("commits")


if __name__ == "__main__":
    bootstrap, topic, folder = sys.argv[1:]
    session = open_session(SessionOptions("sink", master="local[2]"))
    start_reader(session, bootstrap, topic, Path(folder)).awaitTermination()
