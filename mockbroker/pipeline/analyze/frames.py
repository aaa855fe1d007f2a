"""What the tables have in common: the place on the time axis, buckets, and parts of the lines.

Used by the modules of the tables; `timed` is applied once by `job`, before them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from pyspark.sql import functions as F  # noqa: N812 -- its name everywhere
from pyspark.sql.types import StructType

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructField

CONNECTION: Final = ("side", "run", "broker", "connection")
"""What names one connection: numbers start anew in each broker and run."""

WOKEN_BY_NEWS: Final = ("data", "high_watermark", "last_stable_offset")
"""Causes that promise a waiting fetch something to tell."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the tables depend on beside the lines.

    `bin_ms` is the width of a step of the time axis, `backoff_ms` the least pause before a retry,
    `slowest` how many requests are listed.
    """

    bin_ms: float = 1000.0
    backoff_ms: float = 20.0
    slowest: int = 100


@dataclass(frozen=True, slots=True)
class Table:
    """One table: its schema as DDL, and how it is made. `order` sorts the page's part.

    `make` takes the lines with `t_ms`, or the table that `source` names. What it returns has the
    schema's columns, in any order; they are cast to its types.
    """

    name: str
    schema: str
    make: Callable[[DataFrame, Options], DataFrame]
    order: str
    source: str = "lines"

    def of(self, source: DataFrame, options: Options) -> DataFrame:
        """The table in the shape that its schema says."""
        made = self.make(source, options)
        fields = fields_of(self.schema)
        return made.select(
            *(F.col(f"`{field.name}`").cast(field.dataType).alias(field.name) for field in fields)
        )


def fields_of(schema: str) -> list[StructField]:
    """The fields of a schema in DDL."""
    fields: list[StructField] = cast("StructType", StructType.fromDDL(schema)).fields
    return fields


def timed(lines: DataFrame, runs: DataFrame) -> DataFrame:
    """Add `t_ms`: ms since the first run of its side began, on the brokers' clocks.

    `runs` is the table of that name: it places the runs of a side by wall time. Within a run only
    its clock counts, so a wall clock that jumps moves nothing.
    """
    placed = lines.join(F.broadcast(runs.select("side", "run", "starts_s")), ["side", "run"])
    return placed.withColumn("t_ms", F.col("at_ms") + F.col("starts_s") * 1000).drop("starts_s")


def requests(lines: DataFrame) -> DataFrame:
    """Lines of requests; a client without an id is named `(none)`."""
    named = F.when(F.coalesce("client_id", F.lit("")) == "", "(none)").otherwise(F.col("client_id"))
    return lines.where("kind = 'request'").withColumn("client_id", named)


def fetches(lines: DataFrame) -> DataFrame:
    """Requests of the Fetch API that could be decoded."""
    return requests(lines).where("api = 'Fetch' AND fetch IS NOT NULL")


def fetched_partitions(lines: DataFrame) -> DataFrame:
    """One row for each partition that a fetch lists, as `part` beside the fetch."""
    return fetches(lines).withColumn("part", F.explode("fetch.partitions"))


def start_s(options: Options) -> Column:
    """The step of the time axis that a line falls into, by its start in seconds."""
    return F.floor(F.col("t_ms") / options.bin_ms) * (options.bin_ms / 1000)


def bucket_ms(column: str) -> Column:
    """The power of two, from 1/8 ms on, that a duration does not exceed; 0 for none at all."""
    value = F.col(column)
    power = F.pow(F.lit(2.0), F.ceil(F.log2(value)))
    return F.when(value <= 0, 0.0).when(value <= 0.125, 0.125).otherwise(power)


def quantiles(column: str) -> list[Column]:
    """p50_ms, p90_ms, p99_ms and max_ms of a duration."""
    found = [
        F.percentile_approx(column, share).alias(f"p{round(share * 100)}_ms")
        for share in (0.5, 0.9, 0.99)
    ]
    return [*found, F.max(column).alias("max_ms")]


QUANTILES: Final = "p50_ms DOUBLE, p90_ms DOUBLE, p99_ms DOUBLE, max_ms DOUBLE"


def count() -> Column:
    """Rows."""
    return F.count(F.lit(1))


def count_where(condition: str) -> Column:
    """Rows for which a SQL expression holds."""
    return F.count_if(F.expr(condition))


def total(expression: str) -> Column:
    """The sum of a SQL expression; 0 when there is none."""
    return F.coalesce(F.sum(F.expr(expression)), F.lit(0))
