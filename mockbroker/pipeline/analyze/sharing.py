"""Consumers that share partitions: what their filters cost and saved, and whether order was kept.

Called through `tables`. A filter looks at bytes so that the wire has fewer; what an earlier one
left over costs no look. Order within a key is kept if in one generation no two members read the
same slots, and none goes back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812 -- its name everywhere

from mockbroker.pipeline.analyze.frames import (
    Options,
    Table,
    count,
    count_where,
    fetched_partitions,
    requests,
    total,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_GENERATION: Final = ("side", "run", "group", "topic", "partition", "generation")


def filtering(lines: DataFrame, _: Options) -> DataFrame:
    """Filtered fetches by client and topic."""
    return (
        fetched_partitions(lines)
        .where("part.scanned_bytes IS NOT NULL")
        .groupBy("side", "client_id", F.col("part.topic").alias("topic"))
        .agg(
            count().alias("fetches"),
            total("part.scanned_bytes").alias("scanned_bytes"),
            total("part.bytes").alias("sent_bytes"),
            total("greatest(part.scanned_bytes - part.bytes, 0)").alias("spared_bytes"),
            total("part.scanned_records").alias("scanned_records"),
            total("part.matched_records").alias("matched_records"),
            total("part.cache_hits").alias("cache_hits"),
            count_where("part.matched_records = 0").alias("in_vain"),
        )
    )


def key_order(lines: DataFrame, _: Options) -> DataFrame:
    """By group, partition and generation: who read the same slots, and who went back."""
    reads = (
        fetched_partitions(lines)
        .where("part.slots IS NOT NULL AND part.next_offset IS NOT NULL AND part.error = 0")
        .where("fetch.member IS NOT NULL AND fetch.generation >= 0")
        .select(
            "side",
            "run",
            "seq",
            F.col("fetch.group").alias("group"),
            F.col("fetch.member").alias("member"),
            F.col("fetch.generation").alias("generation"),
            F.col("part.topic").alias("topic"),
            F.col("part.partition").alias("partition"),
            F.col("part.slots").alias("slots"),
            F.col("part.fetch_offset").alias("fetch_offset"),
            F.col("part.next_offset").alias("next_offset"),
        )
    )
    in_order = Window.partitionBy(*_GENERATION, "member").orderBy("seq")
    furthest = F.max("next_offset").over(in_order.rowsBetween(Window.unboundedPreceding, -1))
    steps = reads.withColumn("went_back", F.col("fetch_offset") < F.coalesce(furthest, F.lit(0)))
    sums = steps.groupBy(*_GENERATION).agg(
        F.count_distinct("member").alias("members"),
        count().alias("fetches"),
        count_where("went_back").alias("went_back"),
    )
    owned = (
        reads.select(*_GENERATION, "member", F.explode("slots").alias("slot"))
        .select(
            *_GENERATION,
            "member",
            F.col("slot").getItem(0).alias("lo"),
            F.col("slot").getItem(1).alias("hi"),
        )
        .distinct()
    )
    other = owned.select(
        *_GENERATION,
        F.col("member").alias("beside"),
        F.col("lo").alias("beside_lo"),
        F.col("hi").alias("beside_hi"),
    )
    twice = (
        owned.join(other, list(_GENERATION))
        .where("member < beside AND lo <= beside_hi AND beside_lo <= hi")
        .groupBy(*_GENERATION)
        .agg(F.count_distinct("member", "beside").alias("overlaps"))
    )
    return (
        sums.join(twice, list(_GENERATION), "left")
        .withColumn("overlaps", F.coalesce("overlaps", F.lit(0)))
        .withColumn("kept", F.expr("overlaps = 0 AND went_back = 0"))
    )


def range_commits(lines: DataFrame, _: Options) -> DataFrame:
    """Commits of single records by group and partition."""
    return (
        requests(lines)
        .where("`group`.offsets IS NOT NULL")
        .withColumn("part", F.explode("group.offsets"))
        .where("part.ranges IS NOT NULL")
        .groupBy(
            "side",
            F.col("group.group").alias("group"),
            F.col("part.topic").alias("topic"),
            F.col("part.partition").alias("partition"),
        )
        .agg(
            count().alias("commits"),
            total("size(part.ranges)").alias("ranges"),
            count_where("part.error != 0").alias("refused"),
            F.max("part.stable").alias("stable"),
            F.max("part.held").alias("most_held"),
        )
    )


TABLES: Final = (
    Table(
        "filtering",
        "side STRING, client_id STRING, topic STRING, fetches BIGINT, scanned_bytes BIGINT,"
        " sent_bytes BIGINT, spared_bytes BIGINT, scanned_records BIGINT, matched_records BIGINT,"
        " cache_hits BIGINT, in_vain BIGINT",
        filtering,
        "scanned_bytes DESC, side, client_id, topic",
    ),
    Table(
        "key_order",
        "side STRING, run STRING, `group` STRING, topic STRING, partition INT, generation INT,"
        " members BIGINT, fetches BIGINT, overlaps BIGINT, went_back BIGINT, kept BOOLEAN",
        key_order,
        "kept, side, run, group, topic, partition, generation",
    ),
    Table(
        "range_commits",
        "side STRING, `group` STRING, topic STRING, partition INT, commits BIGINT, ranges BIGINT,"
        " refused BIGINT, stable BIGINT, most_held BIGINT",
        range_commits,
        "commits DESC, side, group, topic, partition",
    ),
)
