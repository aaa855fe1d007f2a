"""The life of fetch sessions: how they came and went, and what caused errors 70 and 71.

Called through `tables`. A session event is written just before the request that brought it, so the
cause of an error is the event before it among the lines of that session id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812 -- its name everywhere

from mockbroker.pipeline.analyze.frames import Options, Table, count, fetches, start_s, total

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SESSION_ID_NOT_FOUND: Final = 70
INVALID_FETCH_SESSION_EPOCH: Final = 71


def _events(lines: DataFrame) -> DataFrame:
    return lines.where("kind = 'session'")


def session_events(lines: DataFrame, _: Options) -> DataFrame:
    """Events by what and why. `epochs_lost`: by how many the epochs of error 71 were wrong."""
    return (
        _events(lines)
        .groupBy("side", "event", "rule", "why")
        .agg(
            count().alias("events"),
            total("partitions").alias("partitions"),
            F.percentile_approx("age_ms", 0.5).alias("p50_age_ms"),
            F.percentile_approx("idle_ms", 0.5).alias("p50_idle_ms"),
            total("abs(expected_epoch - epoch)").alias("epochs_lost"),
        )
    )


def session_series(lines: DataFrame, options: Options) -> DataFrame:
    """Events for each step of the time axis; an eviction with its rule."""
    words = F.concat_ws(", ", "event", "rule")
    at = start_s(options).alias("start_s")
    return _events(lines).groupBy("side", at, words.alias("event")).agg(count().alias("events"))


def session_errors(lines: DataFrame, _: Options) -> DataFrame:
    """Fetches that got error 70 or 71: whose, why, and by which rule the session had gone."""
    events = _events(lines).select(
        "side", "run", "broker", "seq", "session_id", "event", "rule", "why",
        F.abs(F.col("expected_epoch") - F.col("epoch")).alias("lost"),
        F.lit(None).cast("string").alias("client_id"),
        F.lit(None).cast("int").alias("error"),
        F.lit(None).cast("string").alias("fault"),
    )  # fmt: skip
    failed = (
        fetches(lines)
        .where(F.arrays_overlap("errors", F.array(F.lit(70), F.lit(71))))
        .select(
            "side", "run", "broker", "seq", F.col("fetch.session_id").alias("session_id"),
            *(F.lit(None).cast("string").alias(name) for name in ("event", "rule", "why")),
            F.lit(None).cast("int").alias("lost"),
            "client_id",
            F.when(F.array_contains("errors", 70), 70).otherwise(71).alias("error"),
            "fault",
        )
    )  # fmt: skip
    before = Window.partitionBy("side", "run", "broker", "session_id").orderBy("seq")
    so_far = before.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    told = F.col("event").isin("not_found", "wrong_epoch")
    rows = (
        events.unionByName(failed)
        .withColumn("ended_by", F.last(F.when(~told, F.col("rule")), ignorenulls=True).over(so_far))
        .withColumn("cause", F.last(F.when(told, F.col("why")), ignorenulls=True).over(so_far))
        .withColumn("lost_by", F.lag("lost").over(before))
        .where("error IS NOT NULL")
    )
    # An answer that a fault made up has no event: what it says is the fault's.
    cause = F.when(F.col("fault").isNotNull(), F.concat(F.lit("fault "), "fault")).otherwise(
        F.coalesce("cause", F.lit("unknown"))
    )
    rule = F.when(F.col("fault").isNull() & (F.col("cause") == "evicted"), F.col("ended_by"))
    return rows.groupBy("side", "client_id", "error", cause.alias("cause"), rule.alias("rule")).agg(
        count().alias("requests"),
        total("lost_by").alias("epochs_lost"),
        F.min_by("run", "seq").alias("first_run"),
        F.min("seq").alias("first_seq"),
    )


TABLES: Final = (
    Table(
        "session_events",
        "side STRING, event STRING, rule STRING, why STRING, events BIGINT, partitions BIGINT,"
        " p50_age_ms DOUBLE, p50_idle_ms DOUBLE, epochs_lost BIGINT",
        session_events,
        "side, events DESC, event, rule, why",
    ),
    Table(
        "session_series",
        "side STRING, start_s DOUBLE, event STRING, events BIGINT",
        session_series,
        "side, start_s, event",
    ),
    Table(
        "session_errors",
        "side STRING, client_id STRING, error INT, cause STRING, rule STRING, requests BIGINT,"
        " epochs_lost BIGINT, first_run STRING, first_seq BIGINT",
        session_errors,
        "requests DESC, side, client_id, error, cause",
    ),
)
