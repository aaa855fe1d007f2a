"""Topics as DataFrames: Spark's Kafka source and sink, with the settings that make them exact.

Called by the jobs. Invariants: reads are read_committed unless told otherwise, carry headers, and
fail rather than skip what was deleted; writes are idempotent with acks=all. Rows are never seen by
Python: the rate limit is an expression in the plan.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.errors import AnalysisException
from pyspark.sql import functions as F  # noqa: N812 -- its name everywhere

from mockbroker.pipeline.connector import packages
from mockbroker.pipeline.errors import PipelineError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import Column, DataFrame, SparkSession

    from mockbroker.pipeline.topic_range import Broker

# Larger batches than an interactive producer wants: this one is never interactive.
PRODUCER_CONF: Final = {
    "kafka.acks": "all",
    "kafka.enable.idempotence": "true",
    "kafka.linger.ms": "20",
    "kafka.batch.size": "262144",
}
V1_SOURCES: Final = "avro,csv,json,orc,parquet,text"
SLEEPS_PER_SECOND: Final = 20
"""A rate limit is kept by short sleeps of each task, so many a second."""

_TASK_ROW_BITS: Final = (1 << 33) - 1


def require_connector(spark: SparkSession) -> None:
    """Raise PipelineError where a session cannot speak Kafka; asks no broker.

    A session that was given may lack the connector: that must be known before a topic is made.
    """
    try:
        _ = read_topics(spark, {"kafka.bootstrap.servers": "none:1", "subscribe": "none"}).schema
    except AnalysisException:
        raise PipelineError(
            "this Spark session has no Kafka connector: start it, or over Connect its server,"
            f" with spark.jars.packages={packages(spark.version)}, or with spark.jars"
        ) from None


def read_topics(spark: SparkSession, options: Mapping[str, str]) -> DataFrame:
    """The records in a bounded range (the rows of Spark's Kafka source)."""
    return spark.read.format("kafka").options(**options).load()


def stream_topics(spark: SparkSession, options: Mapping[str, str]) -> DataFrame:
    """The records from a start on, as a stream; the end bound is the trigger's business."""
    started = {key: value for key, value in options.items() if not key.startswith("ending")}
    return spark.readStream.format("kafka").options(**started).load()


def write_topic(records: DataFrame, broker: Broker, topic: str, conf: Mapping[str, str]) -> None:
    """Append rows of `records.WRITE_SCHEMA` less its timestamp, a task at a time in row order."""
    options = {**PRODUCER_CONF, **broker.options(), **conf}
    # The sink of Spark's second API: the first one loses what `observe` counts.
    records.sparkSession.conf.set("spark.sql.sources.useV1SourceList", V1_SOURCES)
    records.write.format("kafka").mode("append").options(**options).option("topic", topic).save()


def limit_rate(rows: DataFrame, rows_per_second: float, tasks: int) -> DataFrame:
    """At most so many rows a second, when at most `tasks` tasks run at a time.

    Each task sleeps after its share of a short interval, in the JVM that reads the rows.
    """
    per_task = rows_per_second / tasks
    chunk = max(1, int(per_task / SLEEPS_PER_SECOND))
    pause_ms = max(1, round(chunk / per_task * 1000))
    row = F.monotonically_increasing_id().bitwiseAND(F.lit(_TASK_ROW_BITS))
    due: Column = (row % F.lit(chunk)) == F.lit(chunk - 1)
    sleep = F.java_method(F.lit("java.lang.Thread"), F.lit("sleep"), F.lit(pause_ms).cast("bigint"))
    # What sleep returns is never this text: every row passes, after its task has slept.
    return rows.where(F.when(due, F.coalesce(sleep, F.lit(""))).otherwise(F.lit("")) != F.lit("?"))
