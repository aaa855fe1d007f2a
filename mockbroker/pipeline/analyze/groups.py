"""Rebalances of consumer groups: when each generation began, who came, how long it took.

Called through `tables`. Classic groups: from the first JoinGroup that was answered with the
generation to the last SyncGroup in it. KIP-848: from the first to the last member that heard of an
epoch in a heartbeat for the first time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812 -- its name everywhere

from mockbroker.pipeline.analyze.frames import Options, Table, count, requests

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_SHIFT: Final = "(t_ms - at_ms)"


def rebalances(lines: DataFrame, _: Options) -> DataFrame:
    """One row for each generation or epoch of each group."""
    steps = _classic_steps(lines).unionByName(_consumer_steps(lines))
    joined = F.col("step") == "join"
    return (
        steps.groupBy("side", "run", "group", "protocol_type", "generation")
        .agg(
            (F.min("from_ms") / 1000).alias("started_s"),
            (F.max("to_ms") / 1000).alias("ended_s"),
            (F.max("to_ms") - F.min("from_ms")).alias("took_ms"),
            F.approx_count_distinct("member").alias("members"),
            F.count_if(joined).alias("joins"),
            F.max("leader").alias("leader"),
            F.max("protocol").alias("protocol"),
            F.min("seq").alias("first_seq"),
        )
        .where("joins > 0")
    )


def _of_groups(lines: DataFrame) -> DataFrame:
    asked = requests(lines).where("`group` IS NOT NULL AND answered AND `group`.error = 0")
    return asked.withColumn("shift_ms", F.expr(_SHIFT))


def _classic_steps(lines: DataFrame) -> DataFrame:
    steps = _of_groups(lines).where("api IN ('JoinGroup', 'SyncGroup')")
    is_join = F.col("api") == "JoinGroup"
    generation = F.when(is_join, F.col("group.answered_generation")).otherwise(
        F.col("group.generation")
    )
    return steps.select(
        "side", "run", "seq",
        F.col("group.group").alias("group"),
        F.lit("classic").alias("protocol_type"),
        generation.alias("generation"),
        F.when(is_join, "join").otherwise("sync").alias("step"),
        F.col("group.member").alias("member"),
        F.col("group.leader").alias("leader"),
        F.col("group.protocol").alias("protocol"),
        (F.col("arrived_ms") + F.col("shift_ms")).alias("from_ms"),
        (F.col("completed_ms") + F.col("shift_ms")).alias("to_ms"),
    ).where("generation >= 0")  # fmt: skip


def _consumer_steps(lines: DataFrame) -> DataFrame:
    beats = _of_groups(lines).where("api = 'ConsumerGroupHeartbeat'")
    return (
        beats.groupBy(
            "side", "run", F.col("group.group").alias("group"),
            F.col("group.answered_generation").alias("generation"),
            F.col("group.member").alias("member"),
        )
        .agg(
            F.min("seq").alias("seq"),
            F.min(F.col("arrived_ms") + F.col("shift_ms")).alias("from_ms"),
            F.min(F.col("completed_ms") + F.col("shift_ms")).alias("to_ms"),
        )
        .where("generation > 0")
        .select(
            "*",
            F.lit("consumer").alias("protocol_type"),
            F.lit("join").alias("step"),
            F.lit(None).cast("string").alias("leader"),
            F.lit(None).cast("string").alias("protocol"),
        )
    )  # fmt: skip


def group_requests(lines: DataFrame, _: Options) -> DataFrame:
    """Requests of each group by API and error."""
    return (
        requests(lines)
        .where("`group` IS NOT NULL")
        .groupBy("side", F.col("group.group").alias("group"), "api", F.col("error"))
        .agg(count().alias("requests"))
    )


TABLES: Final = (
    Table(
        "rebalances",
        "side STRING, run STRING, `group` STRING, protocol_type STRING, generation INT,"
        " started_s DOUBLE, ended_s DOUBLE, took_ms DOUBLE, members BIGINT, joins BIGINT,"
        " leader STRING, protocol STRING, first_seq BIGINT",
        rebalances,
        "side, started_s, `group`, generation",
    ),
    Table(
        "group_requests",
        "side STRING, `group` STRING, api STRING, error INT, requests BIGINT",
        group_requests,
        "requests DESC, side, `group`, api, error",
    ),
)
