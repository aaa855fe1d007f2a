"""Time axis, buckets and quantiles: the parts that the tables share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F  # noqa: N812 -- its name everywhere

from mockbroker.pipeline.analyze.frames import Options, Table, bucket_ms, timed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.spark
def test_a_bucket_is_the_power_of_two_that_is_not_exceeded(spark: SparkSession) -> None:
    values = [0.0, 0.01, 0.125, 0.2, 1.0, 1.1, 500.0]
    rows = spark.createDataFrame([(value,) for value in values], "wait DOUBLE")
    found = [row[0] for row in rows.select(bucket_ms("wait")).collect()]
    assert found == [0.0, 0.125, 0.125, 0.25, 1.0, 2.0, 512.0]


@pytest.mark.spark
def test_runs_follow_each_other_on_the_time_axis(spark: SparkSession) -> None:
    lines = spark.createDataFrame(
        [("base", "a", 5.0), ("base", "b", 5.0)], "side STRING, run STRING, at_ms DOUBLE"
    )
    runs = spark.createDataFrame(
        [("base", "a", 0.0), ("base", "b", 60.0)], "side STRING, run STRING, starts_s DOUBLE"
    )
    placed = {row["run"]: row["t_ms"] for row in timed(lines, runs).collect()}
    assert placed == {"a": 5.0, "b": 60_005.0}


@pytest.mark.spark
def test_a_table_has_its_schemas_columns_and_types(spark: SparkSession) -> None:
    table = Table("t", "b DOUBLE, a BIGINT", lambda lines, _: lines.withColumn("b", F.lit(1)), "a")
    made = table.of(spark.range(1).withColumnRenamed("id", "a"), Options())
    assert [field.simpleString() for field in made.schema] == ["b:double", "a:bigint"]
