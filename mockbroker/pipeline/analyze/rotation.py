"""How partitions take turns over time: fetches that passed one over while it had data (KIP-74).

Called through `tables`. A reader is a fetch session, or a connection where there is none. A turn
begins when a reader asks for a partition from a position, and ends when it is served from there.
Each of the reader's fetches in between that could have served it has passed it over: it was
answered after the high watermark went beyond the position. A rotation that is even passes each
partition over as often as any other, however many there are.

An incremental fetch does not name again what it asked for before, so positions are carried on, and
the high watermarks' own lines tell when data came. Readers that wait for transactions
(isolation level 1) are left out: no line tells when their last stable offset moved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 -- its name everywhere

from mockbroker.pipeline.analyze.frames import Options, Table, count, fetches, total

if TYPE_CHECKING:
    from pyspark.sql import Column

_NOWHERE: Final = -1
_WITHOUT_PARTITIONS: Final = (70, 71, 106)
"""FETCH_SESSION_ID_NOT_FOUND, INVALID_FETCH_SESSION_EPOCH, FETCH_SESSION_TOPIC_ID_ERROR."""
READER: Final = ("side", "run", "broker", "session", "connection")
_ASKED: Final = (*READER, "topic", "partition")
_LOG: Final = ("side", "run", "broker", "topic", "partition")
DRAWN: Final = 24
"""So many partitions of a side are followed over time: those that were passed over most."""


def _numbered(lines: DataFrame) -> DataFrame:
    """Answered fetches with their number `n` among those of their reader."""
    session = F.expr(
        "CASE fetch.class WHEN 'INCREMENTAL' THEN fetch.session_id"
        " WHEN 'FULL' THEN coalesce(fetch.answered_session_id, 0) ELSE 0 END"
    )
    read = (
        fetches(lines)
        .where("answered AND fetch.isolation_level = 0")
        .where(~F.arrays_overlap("errors", F.array(*map(F.lit, _WITHOUT_PARTITIONS))))
    )
    return read.select(
        "side", "run", "broker", session.alias("session"),
        F.when(session == 0, F.col("connection")).otherwise(0).alias("connection"),
        "client_id", "seq", "t_ms", F.col("fetch.partitions").alias("partitions"),
    ).withColumn("n", F.row_number().over(Window.partitionBy(*READER).orderBy("seq")))  # fmt: skip


def _turns(numbered: DataFrame) -> DataFrame:
    """From when a reader asked for a partition at a position to when it was served, or moved on."""
    part = (
        numbered.withColumn("part", F.explode("partitions"))
        .where("coalesce(part.error, 0) = 0")
        .select(
            *READER, "client_id", "seq", "t_ms", "n",
            F.coalesce("part.topic", "part.topic_id").alias("topic"),
            F.col("part.partition").alias("partition"),
            F.col("part.fetch_offset").alias("named"),
            (F.coalesce("part.bytes", F.lit(0)) > 0).alias("served"),
            F.col("part.high_watermark").alias("told"),
        )
    )  # fmt: skip
    before = Window.partitionBy(*_ASKED).orderBy("seq")
    # Whoever was served asks from elsewhere next, and says so.
    left_at = F.last(F.expr(f"if(served, {_NOWHERE}, named)"), ignorenulls=True).over(
        before.rowsBetween(Window.unboundedPreceding, -1)
    )
    starved = F.expr("NOT served AND named IS NOT NULL AND told > fetch_offset")
    begins = F.expr("coalesce(served_before OR fetch_offset != offset_before, true)")
    turns = (
        part.withColumn("fetch_offset", F.coalesce("named", left_at))
        .where(f"fetch_offset != {_NOWHERE}")
        .withColumn("offset_before", F.lag("fetch_offset").over(before))
        .withColumn("served_before", F.lag("served").over(before))
        .withColumn("turn", F.sum(begins.cast("int")).over(before))
        .groupBy(*_ASKED, "turn")
        .agg(
            F.first("client_id").alias("client_id"),
            F.min("fetch_offset").alias("fetch_offset"),
            F.min("n").alias("asked_n"),
            F.min("seq").alias("asked_seq"),
            F.min("t_ms").alias("asked_ms"),
            F.min(F.when(starved, F.col("n"))).alias("starved_n"),
            F.count_if(starved).alias("starved"),
            F.max(F.when(F.col("served"), F.col("n"))).alias("served_n"),
            F.max(F.when(F.col("served"), F.col("seq"))).alias("served_seq"),
            F.max(F.when(F.col("served"), F.col("t_ms"))).alias("served_ms"),
        )
    )
    by_turn = Window.partitionBy(*_ASKED).orderBy("turn")
    return turns.withColumn("next_n", F.lead("asked_n").over(by_turn))


def _with_data(turns: DataFrame, lines: DataFrame) -> DataFrame:
    """Turns with the move of the high watermark that put data there, if the journal has it.

    Without it what the answers told counts: they had a high watermark beyond the position.
    """
    moves = lines.where("kind = 'high_watermark' AND `to` > `from`").select(
        *_LOG, F.col("from").alias("fetch_offset"),
        F.struct("seq", "t_ms", F.col("to").alias("end")).alias("moved"),
    )  # fmt: skip
    by_offset = Window.partitionBy(*_LOG).orderBy(
        "fetch_offset", F.col("moved").isNull(), F.col("moved.seq")
    )
    latest = F.last("moved", ignorenulls=True).over(
        by_offset.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    placed = (
        turns.unionByName(moves, allowMissingColumns=True)
        .withColumn("latest", latest)
        .where("asked_n IS NOT NULL")
    )
    covered = F.col("latest.end") > F.col("fetch_offset")
    return (
        placed.withColumn("available_seq", F.when(covered, F.col("latest.seq")))
        .withColumn("available_ms", F.when(covered, F.col("latest.t_ms")))
        .where("coalesce(available_seq, starved_n, served_n) IS NOT NULL")
        .drop("moved", "latest")
    )


def servings(lines: DataFrame, _: Options) -> DataFrame:
    """One row for each turn that was served, and for each that was not though there was data."""
    numbered = _numbered(lines)
    turns = _with_data(_turns(numbered), lines).withColumn(
        "at_seq", F.coalesce("available_seq", F.lit(-1))
    )
    marks = numbered.select(*READER, F.col("seq").alias("at_seq"), F.lit(1).alias("fetch"))
    by_seq = Window.partitionBy(*READER).orderBy("at_seq")
    seen = F.coalesce(F.sum("fetch").over(by_seq), F.lit(0))
    everything = Window.partitionBy(*READER)
    could_n = F.when(
        F.col("available_seq").isNotNull(), F.greatest("asked_n", F.col("seen") + 1)
    ).otherwise(F.coalesce("starved_n", "served_n"))
    end_n = F.coalesce("served_n", "next_n", F.col("fetches") + 1)
    return (
        turns.unionByName(marks, allowMissingColumns=True)
        .withColumn("seen", seen)
        .withColumn("fetches", F.count("fetch").over(everything))
        .where("asked_n IS NOT NULL")
        # Without a session a fetch names all that it wants, and the answer tells of all of it.
        .withColumn(
            "passed_over",
            F.when(F.col("session") == 0, F.col("starved")).otherwise(
                F.greatest(end_n - could_n, F.lit(0))
            ),
        )
        .where("served_n IS NOT NULL OR passed_over > 0")
        .select(
            "*",
            (F.coalesce("served_ms", "asked_ms") / 1000).alias("at_s"),
            (F.col("served_ms") - F.greatest("asked_ms", "available_ms")).alias("waited_ms"),
        )
    )


def _sums() -> list[Column]:
    return [
        F.count("served_seq").alias("servings"),
        total("if(served_seq IS NOT NULL, passed_over, 0)").alias("passed_over"),
        F.max("passed_over").alias("max_passed_over"),
    ]


def rotation(turns: DataFrame, _: Options) -> DataFrame:
    """Per reader and partition: how often it was served, and passed over before that."""
    return turns.groupBy(*_ASKED, "client_id").agg(
        *_sums(),
        F.percentile_approx(F.when(F.col("served_seq").isNotNull(), F.col("passed_over")), 0.5)
        .alias("p50_passed_over"),
        total("if(served_seq IS NULL, passed_over, 0)").alias("passed_over_unserved"),
        F.max("waited_ms").alias("max_waited_ms"),
    )  # fmt: skip


def rotation_series(turns: DataFrame, options: Options) -> DataFrame:
    """The partitions that were passed over most, for each step of the time axis."""
    keys = ("side", "client_id", "topic", "partition")
    most = Window.partitionBy("side").orderBy(
        F.desc("all_passed"), F.desc("all_turns"), "client_id", "topic", "partition"
    )
    drawn = (
        turns.groupBy(*keys)
        .agg(F.sum("passed_over").alias("all_passed"), count().alias("all_turns"))
        .withColumn("place", F.row_number().over(most))
        .where(F.col("place") <= DRAWN)
        .select(*keys, "place")
    )
    width_s = options.bin_ms / 1000
    at = (F.floor(F.col("at_s") / width_s) * width_s).alias("start_s")
    followed = turns.join(F.broadcast(drawn), list(keys))
    return followed.groupBy(*keys, "place", at).agg(*_sums())


def turn_histogram(turns: DataFrame, _: Options) -> DataFrame:
    """Turns that were served, by client and by how many fetches had passed them over."""
    served = turns.where("served_seq IS NOT NULL")
    power = F.ceil(F.log2(F.col("passed_over").cast("double")))
    up_to = F.when(F.col("passed_over") < 2, F.col("passed_over")).otherwise(
        F.pow(F.lit(2.0), power)
    )
    return served.groupBy("side", "client_id", up_to.alias("up_to")).agg(count().alias("turns"))


_READER_DDL: Final = (
    "side STRING, run STRING, broker INT, client_id STRING, session BIGINT, connection BIGINT,"
    " topic STRING, partition INT"
)
_SUMS_DDL: Final = "servings BIGINT, passed_over BIGINT, max_passed_over BIGINT"

TABLES: Final = (
    Table(
        "servings",
        f"{_READER_DDL}, fetch_offset BIGINT, asked_seq BIGINT, available_seq BIGINT,"
        " served_seq BIGINT, at_s DOUBLE, passed_over BIGINT, waited_ms DOUBLE",
        servings,
        "passed_over DESC, side, run, asked_seq",
    ),
    Table(
        "rotation",
        f"{_READER_DDL}, {_SUMS_DDL}, p50_passed_over BIGINT, passed_over_unserved BIGINT,"
        " max_waited_ms DOUBLE",
        rotation,
        "passed_over_unserved DESC, max_passed_over DESC, passed_over DESC, side, client_id,"
        " topic, partition",
        source="servings",
    ),
    Table(
        "rotation_series",
        f"side STRING, client_id STRING, topic STRING, partition INT, place INT, start_s DOUBLE,"
        f" {_SUMS_DDL}",
        rotation_series,
        "place, start_s, side",
        source="servings",
    ),
    Table(
        "turn_histogram",
        "side STRING, client_id STRING, up_to BIGINT, turns BIGINT",
        turn_histogram,
        "side, client_id, up_to",
        source="servings",
    ),
)
