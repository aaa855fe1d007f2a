"""How long requests waited and for what; fetches woken in vain; how watermarks reach readers.

Called through `tables`. A fetch is woken in vain when news ended its wait and the answer has none:
no records, and no high watermark told because of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812 -- its name everywhere

from mockbroker.pipeline.analyze.frames import (
    CONNECTION,
    QUANTILES,
    WOKEN_BY_NEWS,
    Options,
    Table,
    bucket_ms,
    count,
    count_where,
    fetched_partitions,
    fetches,
    quantiles,
    requests,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_NEWS: Final = f"cause IN {WOKEN_BY_NEWS} AND fetch.records_bytes = 0"
WATERMARK_ONLY: Final = f"({_NEWS} AND cause = 'high_watermark' AND fetch.high_watermarks_told > 0)"
IN_VAIN: Final = f"({_NEWS} AND NOT {WATERMARK_ONLY})"


def waits(lines: DataFrame, _: Options) -> DataFrame:
    """Time from arrival to completion by API and cause."""
    return (
        requests(lines)
        .groupBy("side", "api", "cause")
        .agg(count().alias("requests"), *quantiles("waited_ms"))
    )


def wait_histogram(lines: DataFrame, _: Options) -> DataFrame:
    """Fetches by cause and by the power of two that their wait did not exceed."""
    return (
        fetches(lines)
        .groupBy("side", "cause", bucket_ms("waited_ms").alias("up_to_ms"))
        .agg(count().alias("requests"))
    )


def fetch_waits(lines: DataFrame, _: Options) -> DataFrame:
    """Per client: how fetches ended, and how many were woken in vain."""
    parked = count_where("parked")
    return (
        fetches(lines)
        .groupBy("side", "client_id")
        .agg(
            count().alias("fetches"),
            parked.alias("parked"),
            count_where("cause = 'timeout'").alias("timed_out"),
            (count_where("cause = 'timeout'") / count()).alias("max_wait_hit_ratio"),
            count_where(f"cause IN {WOKEN_BY_NEWS}").alias("woken"),
            count_where(WATERMARK_ONLY).alias("watermark_only"),
            count_where(IN_VAIN).alias("in_vain"),
            *quantiles("waited_ms"),
        )
    )


# -- high watermarks -----------------------------------------------------------------------


def _told(lines: DataFrame) -> DataFrame:
    """For each watermark that a client was told at the moment it was told first."""
    moved = lines.where("kind = 'high_watermark'").groupBy(
        "side", "run", "broker", "topic", "partition", F.col("to").alias("high_watermark")
    )
    known = (
        fetches(lines)
        .groupBy(*CONNECTION)
        .agg(F.max(F.col("fetch.high_watermarks_known") > 0).alias("kip_1166"))
    )
    listed = fetched_partitions(lines).where("answered AND part.high_watermark >= 0")
    told = listed.select(
        *CONNECTION, "client_id", "completed_ms",
        F.when(F.col("fetch.replica_id") >= 0, "follower").otherwise("consumer").alias("reader"),
        F.col("part.topic").alias("topic"),
        F.col("part.partition").alias("partition"),
        F.col("part.high_watermark").alias("high_watermark"),
    )  # fmt: skip
    first = told.groupBy(
        *CONNECTION, "client_id", "reader", "topic", "partition", "high_watermark"
    ).agg(F.min("completed_ms").alias("told_ms"))
    place = ["side", "run", "broker", "topic", "partition", "high_watermark"]
    return (
        first.join(moved.agg(F.min("at_ms").alias("moved_ms")), place)
        .join(known, list(CONNECTION))
        .withColumn("delay_ms", F.col("told_ms") - F.col("moved_ms"))
        # A watermark that moved before this client was there is no news to it.
        .where("delay_ms >= 0")
    )


def high_watermarks(lines: DataFrame, _: Options) -> DataFrame:
    """From a watermark's move to the first answer that tells it, by client and KIP-1166."""
    return (
        _told(lines)
        .groupBy("side", "client_id", "reader", "kip_1166")
        .agg(count().alias("told"), *quantiles("delay_ms"))
    )


def high_watermark_histogram(lines: DataFrame, _: Options) -> DataFrame:
    """The same delays by the power of two that they did not exceed."""
    return (
        _told(lines)
        .groupBy("side", "reader", "kip_1166", bucket_ms("delay_ms").alias("up_to_ms"))
        .agg(count().alias("told"))
    )


TABLES: Final = (
    Table(
        "waits",
        f"side STRING, api STRING, cause STRING, requests BIGINT, {QUANTILES}",
        waits,
        "requests DESC, side, api, cause",
    ),
    Table(
        "wait_histogram",
        "side STRING, cause STRING, up_to_ms DOUBLE, requests BIGINT",
        wait_histogram,
        "side, cause, up_to_ms",
    ),
    Table(
        "fetch_waits",
        "side STRING, client_id STRING, fetches BIGINT, parked BIGINT, timed_out BIGINT,"
        " max_wait_hit_ratio DOUBLE, woken BIGINT, watermark_only BIGINT, in_vain BIGINT,"
        f" {QUANTILES}",
        fetch_waits,
        "fetches DESC, side, client_id",
    ),
    Table(
        "high_watermarks",
        f"side STRING, client_id STRING, reader STRING, kip_1166 BOOLEAN, told BIGINT, {QUANTILES}",
        high_watermarks,
        "told DESC, side, client_id",
    ),
    Table(
        "high_watermark_histogram",
        "side STRING, reader STRING, kip_1166 BOOLEAN, up_to_ms DOUBLE, told BIGINT",
        high_watermark_histogram,
        "side, reader, kip_1166, up_to_ms",
    ),
)
