"""verify: a topic against a dataset or another topic, by key and content hash, and by order.

Pure: `differences` and `reordered` take two DataFrames of `comparable` rows. One shuffle counts
each content on both sides; a second one lines up the n-th occurrence here with the n-th there, and
counts within each key how often the topic goes back in the expected order. Rows without a key have
no order. What comes to the driver is one row of counts and a sample.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812 -- its name everywhere

from mockbroker.pipeline.load import ORDER_COLUMN, LoadSpec, hashed_columns, to_records
from mockbroker.pipeline.records import content_hash, size_bytes, with_normal_headers
from mockbroker.pipeline.summary import Summary, table
from mockbroker.pipeline.topic_range import (
    Broker,
    TopicRange,
    known_partitions,
    read_options,
    what_is_there,
)
from mockbroker.pipeline.topics import read_topics, require_connector

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame, SparkSession

SAMPLE_ROWS: Final = 10
KINDS: Final = ("missing", "extra", "doubled", "reordered")
_KEY_CHARS: Final = 40
_CONTENT: Final = ("key", "value", "headers")
_TOPIC_COLUMNS: Final = (*_CONTENT, "timestamp", "partition")


@dataclass(frozen=True, slots=True)
class Expected:
    """What the topic should hold: rows of a dataset and how they are sent, or another topic."""

    rows: DataFrame | None = None
    spec: LoadSpec = field(default_factory=LoadSpec)
    broker: Broker | None = None
    topic: TopicRange | None = None


def comparable(records: DataFrame, columns: list[str], place: Column | None) -> DataFrame:
    """key, `_hash`, `_bytes` and `_place` (null: no order is known) of each record."""
    normal = with_normal_headers(records)
    return normal.select(
        "key",
        content_hash(*columns).alias("_hash"),
        size_bytes().alias("_bytes"),
        (F.lit(None).cast("struct<a:int>") if place is None else place).alias("_place"),
    )


def topic_place() -> Column:
    """The order of a topic's records within their partition."""
    return F.struct("partition", "offset")


def differences(expected: DataFrame, actual: DataFrame) -> DataFrame:
    """One row for each content: key, expected, actual, missing, extra, doubled, bytes."""
    sides = [
        side.select(
            "key",
            "_hash",
            F.lit(is_expected).alias("e"),
            F.lit(1 - is_expected).alias("a"),
            (F.col("_bytes") * F.lit(1 - is_expected)).alias("b"),
        )
        for side, is_expected in ((expected, 1), (actual, 0))
    ]
    counted = (
        sides[0]
        .unionByName(sides[1])
        .groupBy("_hash")
        .agg(
            F.any_value("key").alias("key"),
            F.sum("e").alias("expected"),
            F.sum("a").alias("actual"),
            F.sum("b").alias("bytes"),
        )
    )
    more = F.greatest(F.col("actual") - F.col("expected"), F.lit(0))
    return counted.select(
        "key",
        "expected",
        "actual",
        F.greatest(F.col("expected") - F.col("actual"), F.lit(0)).alias("missing"),
        F.when(F.col("expected") == 0, more).otherwise(0).alias("extra"),
        F.when(F.col("expected") > 0, more).otherwise(0).alias("doubled"),
        "bytes",
    )


def reordered(expected: DataFrame, actual: DataFrame) -> DataFrame:
    """The rows (key) that stand before one which should come after them, within their key."""
    sides = []
    for name, side in (("e", expected), ("a", actual)):
        number = F.row_number().over(Window.partitionBy("_hash").orderBy("_place"))
        numbered = side.where(F.col("key").isNotNull()).select(
            "key", "_hash", number.alias("_number"), F.col("_place").alias(name)
        )
        sides.append(numbered)
    lined_up = sides[0].join(sides[1].drop("key"), ["_hash", "_number"])
    before = F.lag("a").over(Window.partitionBy("key").orderBy("e"))
    return lined_up.withColumn("_before", before).where(F.col("a") < F.col("_before")).select("key")


def run_verify(
    spark: SparkSession,
    broker: Broker,
    wanted: TopicRange,
    expected: Expected,
    *,
    sample: int = SAMPLE_ROWS,
    ignore: Sequence[str] = (),
    allow_empty: bool = False,
) -> Summary:
    """Compare; status 1 when anything differs, or nothing was there to compare.

    The summary counts the topic's rows. Nothing against nothing is equal with `allow_empty` alone.

    Two topics are compared by time and partition too, less what is in `ignore`.
    """
    require_connector(spark)
    whole = list(_TOPIC_COLUMNS) if expected.rows is None else hashed_columns(expected.spec)
    columns = [name for name in whole if name not in ignore]
    left = _expected_side(spark, expected, columns)
    records = _records_of(spark, broker, wanted)
    right = comparable(records, columns, topic_place())
    by_content = differences(left, right).persist()
    ordered = expected.rows is None or bool(expected.spec.order_by)
    names = ("expected", "actual", "missing", "extra", "doubled", "bytes")
    totals = by_content.agg(*(F.sum(name).alias(name) for name in names)).first()
    counts = {name: int((totals and totals[name]) or 0) for name in names}
    if ordered:
        counts["reordered"] = reordered(left, right).count()
    differing = sum(counts.get(kind, 0) for kind in KINDS)
    summary = Summary("verify", counts["actual"], counts["bytes"], f"in {_name(wanted)}")
    shown = ("expected", "actual", *KINDS)
    cells = [[name, f"{counts[name]:,}" if name in counts else "not asked"] for name in shown]
    summary.tables.append(table(["what", "rows"], cells))
    if differing:
        summary.status = 1
        summary.tables += _sample(by_content, sample)
    by_content.unpersist()
    summary.figures = {name: counts.get(name) for name in shown}
    if not counts["expected"] and not counts["actual"]:
        summary.status = 0 if allow_empty else 1
        hint = "" if allow_empty else " (--allow-empty takes that as equal)"
        summary.notes.append(f"0 rows on both sides: nothing was compared{hint}")
    else:
        summary.notes.append(f"{differing:,} rows differ" if differing else "equal")
    if differing:
        summary.notes += _only_in(spark, broker, wanted, expected, columns)
    if not counts["actual"]:
        summary.notes.append(what_is_there(wanted, broker))
    if not counts["expected"] and expected.topic is not None and expected.broker is not None:
        summary.notes.append(f"expected: {what_is_there(expected.topic, expected.broker)}")
    return summary


def _only_in(
    spark: SparkSession,
    broker: Broker,
    wanted: TopicRange,
    expected: Expected,
    columns: list[str],
) -> list[str]:
    """The shortest list of what may be left out so that two topics hold the same."""
    extra = [name for name in columns if name not in _CONTENT]
    if expected.rows is not None or not extra:
        return []
    for left_out in (*([name] for name in extra), *([extra] if len(extra) > 1 else [])):
        kept = [name for name in columns if name not in left_out]
        left = _expected_side(spark, expected, kept)
        right = comparable(_records_of(spark, broker, wanted), kept, topic_place())
        one = F.sum(F.col("missing") + F.col("extra") + F.col("doubled")).alias("n")
        row = differences(left, right).agg(one).first()
        if row is not None and not row["n"]:
            return [f"in {' and '.join(left_out)} alone (--ignore {','.join(left_out)})"]
    return []


def _expected_side(spark: SparkSession, expected: Expected, columns: list[str]) -> DataFrame:
    if expected.rows is not None:
        records = to_records(expected.rows, expected.spec)
        place = F.col(ORDER_COLUMN) if expected.spec.order_by else None
        return comparable(records, columns, place)
    assert expected.broker is not None
    assert expected.topic is not None
    records = _records_of(spark, expected.broker, expected.topic)
    return comparable(records, columns, topic_place())


def _records_of(spark: SparkSession, broker: Broker, wanted: TopicRange) -> DataFrame:
    return read_topics(spark, read_options(broker, wanted, known_partitions(broker, wanted)))


def _name(wanted: TopicRange) -> str:
    return wanted.pattern or ",".join(wanted.topics)


def _sample(by_content: DataFrame, rows: int) -> list[str]:
    kinds = [kind for kind in KINDS if kind != "reordered"]
    differing = by_content.where(F.greatest(*kinds) > 0).orderBy("key").limit(rows)
    cells = []
    for row in differing.collect():
        key = "(null)" if row["key"] is None else bytes(row["key"]).decode("utf-8", "replace")
        cells.append([key[:_KEY_CHARS], *(str(row[kind]) for kind in kinds)])
    return ["\n" + table(["key", *kinds], cells)] if cells else []
