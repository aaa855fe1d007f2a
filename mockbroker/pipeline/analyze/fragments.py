"""Pieces of the tables' texts: buckets, sums, quantiles that are the same on every engine.

Used by the modules of the tables. All of it counts in integers, so that no engine rounds in a way
of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

WOKEN_BY_NEWS: Final = "('data', 'high_watermark', 'last_stable_offset')"
"""Causes that promise a waiting fetch something to tell."""

QUANTILES: Final = "p50_ms DOUBLE, p90_ms DOUBLE, p99_ms DOUBLE, max_ms DOUBLE"
WAIT_SHARES: Final = {"p50_ms": 50, "p90_ms": 90, "p99_ms": 99}

_POWERS: Final = tuple(2.0**power for power in range(-3, 32))


def bucket_ms(column: str) -> str:
    """The power of two, from 1/8 ms on, that a duration does not exceed; 0 for none at all."""
    cases = " ".join(f"WHEN {column} <= {power:.6e} THEN {power:.6e}" for power in _POWERS)
    return f"CASE WHEN {column} IS NULL THEN NULL WHEN {column} <= 0 THEN 0e0 {cases} END"


def power_of_two(column: str) -> str:
    """The power of two that a count does not exceed; below 2 the count itself."""
    cases = " ".join(f"WHEN {column} <= {1 << power} THEN {1 << power}" for power in range(1, 62))
    return f"CASE WHEN {column} < 2 THEN {column} {cases} END"


def microseconds(column: str) -> str:
    """A duration in ms as whole microseconds."""
    return f"CAST(round({column} * 1e3) AS BIGINT)"


def three_digits(column: str) -> str:
    """A count (not negative) with what is beyond its first three digits cut off."""
    cases = " ".join(
        f"WHEN {column} < {1000 * 10**power} THEN {column} - {column} % {10**power}"
        for power in range(1, 12)
    )
    return f"CASE WHEN {column} < 1000 THEN {column} {cases} ELSE {column} END"


def start_s(column: str = "t_ms") -> str:
    """The step of the time axis that a time falls into, by its start in seconds."""
    return f"floor({column} / :bin_ms) * (:bin_ms / 1e3)"


def total(expression: str) -> str:
    """The sum of an expression; 0 when there is none."""
    return f"coalesce(sum({expression}), 0)"


def count_where(condition: str) -> str:
    """Rows for which a condition holds."""
    return f"count(*) FILTER (WHERE {condition})"


FIRST_LINE: Final = "min(lpad(CAST(seq AS STRING), 19, '0') || run)"
"""The least number of a line, and of those with it the least run: one value for both."""


def first_line(column: str) -> str:
    """`first_run` and `first_seq` out of a value of FIRST_LINE."""
    return (
        f"substr({column}, 20) AS first_run, CAST(substr({column}, 1, 19) AS BIGINT) AS first_seq"
    )


def with_quantiles(
    source: str,
    keys: Sequence[str],
    sums: Mapping[str, str],
    *,
    value: str = "wait_us",
    weight: str = "requests",
    shares: Mapping[str, int] = WAIT_SHARES,
    scale: str = " / 1e3",
    where: str = "true",
) -> str:
    """Sums and quantiles of counted values, by keys.

    `source` has a row for each value with its `weight`. A quantile of share 90 is the least value
    that at least 90 of 100 do not exceed: percentile_disc. `sums` are columns to their aggregate;
    they read what `source` has, whose rows are kept apart by value alone.
    """
    by = ", ".join(keys)
    counted = ", ".join(f"{expression} AS {name}" for name, expression in sums.items())
    found = ", ".join(
        f"min(CASE WHEN upto_ * 100 >= {share} * whole_ THEN {value} END){scale} AS {name}"
        for name, share in shares.items()
    )
    weighed = f"CASE WHEN {value} IS NULL THEN 0 ELSE {weight} END"
    return f"""
SELECT {by}, {counted}, {found}
FROM (
  SELECT *,
    sum({weighed}) OVER (PARTITION BY {by} ORDER BY {value}) AS upto_,
    sum({weighed}) OVER (PARTITION BY {by}) AS whole_
  FROM {source} WHERE {where}
) AS ranked
GROUP BY {by}"""


NAMED_CLIENTS: Final = 24
"""So many clients of a side have plots of their own; all others are one, OTHERS."""
OTHERS: Final = "(others)"


def by_client(
    source: str, keys: Sequence[str], sums: Sequence[str], weight: str, where: str = "true"
) -> str:
    """Sums of `source` by keys and client, for those clients that have most of `weight`."""
    by = ", ".join(keys)
    summed = ", ".join(f"sum({name}) AS {name}" for name in sums)
    return f"""
SELECT side, client_id, {by}, {summed}
FROM (
  SELECT cells.side AS side, {by}, {", ".join(sums)},
    CASE WHEN place <= {NAMED_CLIENTS} THEN client_id ELSE '{OTHERS}' END AS client_id
  FROM (SELECT * FROM {source} WHERE {where}) AS cells JOIN (
    SELECT side AS of_side, client_id AS of_client,
      row_number() OVER (PARTITION BY side ORDER BY whole_ DESC, client_id) AS place
    FROM (SELECT side, client_id, sum({weight}) AS whole_ FROM {source} WHERE {where}
      GROUP BY side, client_id) AS counted
  ) AS places ON side = of_side AND client_id = of_client
) AS named
GROUP BY side, client_id, {by}"""
