"""Topics as DataFrames: what is written is there, and no faster than was said."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F  # noqa: N812

from mockbroker.pipeline.broker_client import BrokerClient
from mockbroker.pipeline.topic_range import Broker, TopicRange, read_options
from mockbroker.pipeline.topics import limit_rate, read_topics, stream_topics, write_topic

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from mockbroker import MockBroker

pytestmark = pytest.mark.spark


def test_what_is_written_is_read(
    spark: SparkSession, broker: MockBroker, topic: str, tmp_path: Path
) -> None:
    known = Broker(broker.bootstrap_servers)
    with BrokerClient(known.bootstrap) as client:
        client.create_topic(topic, 2)
    rows = spark.range(10).selectExpr(
        "cast(cast(id as string) as binary) as key",
        "cast('v' as binary) as value",
        "cast(id % 2 as int) as partition",
    )
    write_topic(rows, known, topic, {})
    options = read_options(known, TopicRange(topics=(topic,)), {})
    found = read_topics(spark, options).selectExpr("cast(key as string) k", "partition").collect()
    assert sorted((int(r["k"]), r["partition"]) for r in found) == [(n, n % 2) for n in range(10)]
    query = (
        stream_topics(spark, options)
        .writeStream.format("parquet")
        .option("path", str(tmp_path / "out"))
        .option("checkpointLocation", str(tmp_path / "state"))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(60)
    assert spark.read.parquet(str(tmp_path / "out")).count() == 10


def test_a_rate_is_a_bound_and_loses_no_row(spark: SparkSession) -> None:
    limited = limit_rate(spark.range(0, 400, 1, 2), rows_per_second=400, tasks=2)
    started = time.monotonic()
    assert limited.agg(F.sum("id")).collect()[0][0] == sum(range(400))
    assert time.monotonic() - started >= 0.95
