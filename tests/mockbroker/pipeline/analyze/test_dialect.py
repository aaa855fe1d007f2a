"""The words in which the engines differ."""

from __future__ import annotations

import duckdb
import pytest

from mockbroker.pipeline.analyze.dialect import DUCKDB, SPARK


@pytest.mark.parametrize("text", ["plain", "it's", "back\\slash", "two\nlines", "é"])
def test_a_text_is_quoted_for_its_engine(text: str) -> None:
    assert duckdb.execute(f"SELECT {DUCKDB.text(text)}").fetchall() == [(text,)]


def test_spark_escapes_with_backslashes() -> None:
    assert SPARK.text("it's \\ here") == "'it\\'s \\\\ here'"


def test_arrays_are_taken_apart() -> None:
    array = DUCKDB.array("5, 6, 7, 8")
    asked = f"""SELECT {DUCKDB.element(array, 0)}, {DUCKDB.three(array)},
      {DUCKDB.has_any(array, (1, 8))}, {DUCKDB.has_any("NULL", (1,))},
      {DUCKDB.any_of(array, "n", "n > 8")}, {DUCKDB.join("['a', 'b']")}"""
    assert duckdb.execute(asked).fetchall() == [(5, [5, 6, 7], True, False, False, "a, b")]
