"""Answers against the limits of their requests, and who is served when not all can be (KIP-74).

Called through `tables`. A partition is starved in an answer when the answer has records of others,
and none of it although it had some to give. An answer is limited when it starved a partition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812 -- its name everywhere

from mockbroker.pipeline.analyze.frames import (
    Options,
    Table,
    count,
    count_where,
    fetches,
    total,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_READABLE_TO: Final = (
    "if(fetch.isolation_level = 1 AND part.last_stable_offset >= 0,"
    " part.last_stable_offset, part.high_watermark)"
)
STARVED: Final = (
    "(part.position IS NOT NULL AND part.error = 0 AND part.bytes = 0 AND fetch.records_bytes > 0"
    f" AND part.fetch_offset < {_READABLE_TO})"
)


def response_sizes(lines: DataFrame, _: Options) -> DataFrame:
    """Records in answers against max_bytes, per client and limit."""
    return (
        fetches(lines)
        .where("answered")
        .groupBy("side", "client_id", F.col("fetch.max_bytes").alias("max_bytes"))
        .agg(
            count().alias("fetches"),
            count_where("fetch.records_bytes > 0").alias("with_records"),
            F.percentile_approx("fetch.records_bytes", 0.5).alias("p50_records_bytes"),
            F.percentile_approx("fetch.records_bytes", 0.99).alias("p99_records_bytes"),
            F.max("fetch.records_bytes").alias("max_records_bytes"),
            count_where("fetch.first_batch_overrun_bytes > 0").alias("overruns"),
            F.max("fetch.first_batch_overrun_bytes").alias("max_overrun_bytes"),
        )
    )


def response_fill(lines: DataFrame, _: Options) -> DataFrame:
    """Answers with records by how many tenths of max_bytes they fill; 110: beyond it."""
    share = F.expr("100 * fetch.records_bytes / fetch.max_bytes")
    percent = F.when(share > 100, 110).otherwise(F.greatest(F.ceil(share / 10) * 10, F.lit(10)))
    return (
        fetches(lines)
        .where("fetch.records_bytes > 0 AND fetch.max_bytes > 0")
        .groupBy("side", percent.alias("up_to_percent"))
        .agg(count().alias("fetches"))
    )


def _served(lines: DataFrame) -> DataFrame:
    limited = F.expr(f"exists(fetch.partitions, part -> {STARVED})")
    return (
        fetches(lines)
        .withColumn("limited", F.coalesce(limited, F.lit(False)))
        .withColumn("part", F.explode("fetch.partitions"))
        .where("part.position IS NOT NULL")
        .groupBy(
            "side",
            "client_id",
            F.coalesce("part.topic", "part.topic_id").alias("topic"),
            F.col("part.partition").alias("partition"),
        )
        .agg(
            count().alias("answers"),
            count_where("part.bytes > 0").alias("with_records"),
            total("part.bytes").alias("records_bytes"),
            count_where(STARVED).alias("starved"),
            count_where("limited AND part.bytes > 0").alias("served_when_limited"),
            F.avg("part.position").alias("mean_position"),
        )
    )


def partition_service(lines: DataFrame, _: Options) -> DataFrame:
    """Per client and partition: answers that told it, with records, and those that starved it."""
    return _served(lines)


def fairness(lines: DataFrame, _: Options) -> DataFrame:
    """How evenly limited answers served a client's partitions: Jain's index, 1 is even, 1/n not."""
    served = F.col("served_when_limited")
    involved = _served(lines).where("served_when_limited > 0 OR starved > 0")
    return involved.groupBy("side", "client_id").agg(
        count().alias("partitions"),
        total("starved").alias("starved"),
        count_where("served_when_limited = 0").alias("never_served"),
        (F.pow(F.sum(served), F.lit(2)) / F.nullif(count() * F.sum(served * served), F.lit(0)))
        .alias("jain_index"),
    )  # fmt: skip


def first_overruns(lines: DataFrame, options: Options) -> DataFrame:
    """The largest first batches beyond a limit, with their lines."""
    return (
        fetches(lines)
        .where("fetch.first_batch_overrun_bytes > 0")
        .select(
            "side", "run", "seq", "client_id",
            F.col("fetch.first_batch_overrun_bytes").alias("overrun_bytes"),
            F.col("fetch.max_bytes").alias("max_bytes"),
            F.col("fetch.records_bytes").alias("records_bytes"),
            F.col("topics").getItem(0).alias("topic"),
        )
        .orderBy(F.desc("overrun_bytes"), "side", "run", "seq")
        .limit(options.slowest)
    )  # fmt: skip


TABLES: Final = (
    Table(
        "response_sizes",
        "side STRING, client_id STRING, max_bytes BIGINT, fetches BIGINT, with_records BIGINT,"
        " p50_records_bytes BIGINT, p99_records_bytes BIGINT, max_records_bytes BIGINT,"
        " overruns BIGINT, max_overrun_bytes BIGINT",
        response_sizes,
        "fetches DESC, side, client_id",
    ),
    Table(
        "response_fill",
        "side STRING, up_to_percent INT, fetches BIGINT",
        response_fill,
        "side, up_to_percent",
    ),
    Table(
        "partition_service",
        "side STRING, client_id STRING, topic STRING, partition INT, answers BIGINT,"
        " with_records BIGINT, records_bytes BIGINT, starved BIGINT, served_when_limited BIGINT,"
        " mean_position DOUBLE",
        partition_service,
        "starved DESC, answers DESC, side, client_id, topic, partition",
    ),
    Table(
        "fairness",
        "side STRING, client_id STRING, partitions BIGINT, starved BIGINT, never_served BIGINT,"
        " jain_index DOUBLE",
        fairness,
        "jain_index, side, client_id",
    ),
    Table(
        "first_overruns",
        "side STRING, run STRING, seq BIGINT, client_id STRING, overrun_bytes BIGINT,"
        " max_bytes BIGINT, records_bytes BIGINT, topic STRING",
        first_overruns,
        "overrun_bytes DESC",
    ),
)
