"""The recipe of docs/security.md for Spark, and jobs with the settings of the recipe for Java."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

pytest.importorskip("cryptography", reason="the extra tls is not installed")

from tests.clients.recipes import TOPIC, serving_recipes
from tests.spark.conftest import rows_of, run_here

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


def test_spark_and_its_jobs_log_in_over_tls(
    spark: SparkSession, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    active = spark.getActiveSession()  # the recipe takes this one, which other tests may have made
    assert active is not None
    assert active.sparkContext is spark.sparkContext
    with serving_recipes(tmp_path) as recipes:
        before = recipes.broker.journal.cursor()
        exec(compile(recipes.text("Spark"), "recipe", "exec"), {"__name__": "recipe"})
        recipes.check(before)
        settings = recipes.text("Java").splitlines()[1:]
        login = [word for line in settings for word in ("--kafka", line)]
        where = ["--bootstrap", recipes.bootstrap, *login]
        dump = run_here(spark, capsys, "dump", str(tmp_path / "out"), *where, "--topic", TOPIC)
        assert dump["rows"] == 1
        source = [str(tmp_path / "out"), "--format", "parquet", "--value", "value"]
        load = ["load", *source, *where, "--topic", "copy", "--create", "1"]
        assert run_here(spark, capsys, *load)["rows"] == 1
        assert [record.value for record in recipes.broker.topic("copy").records()] == [b"paid"]
        assert len(rows_of(tmp_path / "out", "value")) == 1
