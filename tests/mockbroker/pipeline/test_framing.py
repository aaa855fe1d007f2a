"""Confluent's framing: on, off, and refused where it is another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F  # noqa: N812 -- its name everywhere

from mockbroker.pipeline.framing import ANY_SCHEMA, framed, prefix, unframed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_prefix_is_a_zero_and_the_id() -> None:
    assert prefix(258) == b"\0\0\0\1\2"


@pytest.mark.spark
@pytest.mark.parametrize(
    ("schema_id", "left"),
    [(258, [b"xy", b"", None, None, None]), (ANY_SCHEMA, [b"xy", b"", b"z", None, None])],
)
def test_only_what_is_framed_so_comes_out(
    spark: SparkSession, schema_id: int, left: list[bytes | None]
) -> None:
    sent = [prefix(258) + b"xy", prefix(258), prefix(9) + b"z", b"\1\0\0\1\2z", b"\0\0"]
    rows = spark.createDataFrame([(n, value) for n, value in enumerate(sent)], "n INT, v BINARY")
    found = rows.orderBy("n").select(unframed(F.col("v"), schema_id).alias("v")).collect()
    assert [row["v"] and bytes(row["v"]) for row in found] == left


@pytest.mark.spark
def test_null_stays_null(spark: SparkSession) -> None:
    rows = spark.createDataFrame([(b"a",), (None,)], "v BINARY")
    found = [row["v"] for row in rows.select(framed(F.col("v"), 7).alias("v")).collect()]
    assert [value and bytes(value) for value in found] == [b"\0\0\0\0\7a", None]
