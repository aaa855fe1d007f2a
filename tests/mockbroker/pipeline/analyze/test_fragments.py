"""Buckets and quantiles: exact, and the same wherever they are computed."""

from __future__ import annotations

import duckdb
import pytest

from mockbroker.pipeline.analyze.fragments import (
    bucket_ms,
    first_line,
    power_of_two,
    start_s,
    three_digits,
    with_quantiles,
)
from mockbroker.pipeline.analyze.table import Options


def asked(text: str) -> list[tuple[object, ...]]:
    with duckdb.connect() as connection:
        rows: list[tuple[object, ...]] = connection.execute(text).fetchall()
        return rows


@pytest.mark.parametrize(
    ("wait", "bucket"),
    [(0.0, 0.0), (0.01, 0.125), (0.125, 0.125), (0.2, 0.25), (1.0, 1.0), (1.1, 2.0), (500, 512)],
)
def test_a_bucket_is_the_power_of_two_that_is_not_exceeded(wait: float, bucket: float) -> None:
    assert asked(f"SELECT {bucket_ms('wait')} FROM (SELECT CAST({wait} AS DOUBLE) AS wait)") == [
        (bucket,)
    ]


def test_counts_have_buckets_too() -> None:
    values = "(VALUES (0), (1), (2), (3), (1000)) AS v(n)"
    assert asked(f"SELECT {power_of_two('n')} FROM {values}") == [(0,), (1,), (2,), (4,), (1024,)]


def test_three_digits_are_kept() -> None:
    values = "(VALUES (0), (999), (1234), (99999), (500123)) AS v(n)"
    found = [row[0] for row in asked(f"SELECT {three_digits('n')} FROM {values}")]
    assert found == [0, 999, 1230, 99900, 500000]


def test_a_quantile_is_the_least_value_that_so_many_do_not_exceed() -> None:
    values = "(VALUES ('a', 1, 50), ('a', 2, 40), ('a', 7, 10), ('b', NULL, 3)) AS v(k, u, n)"
    text = with_quantiles(values, ("k",), {"whole": "sum(n)"}, value="u", weight="n", scale="")
    assert sorted(asked(text)) == [("a", 100, 1, 2, 7), ("b", 3, None, None, None)]


def test_the_first_line_has_its_run() -> None:
    assert asked(f"SELECT {first_line(chr(39) + '0' * 17 + '42' + 'run' + chr(39))}") == [
        ("run", 42)
    ]


def test_a_step_of_the_time_axis_is_told_by_its_start() -> None:
    text = Options(bin_ms=500.0).fill(f"SELECT {start_s('1e3 * 61.3')}")
    assert asked(text) == [(61.0,)]
