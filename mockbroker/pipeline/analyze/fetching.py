"""Fetch classes over time and per client, with the bytes that sessions spared (KIP-227).

Called through `tables`. What a fetch would have cost in full is what went over the wire and what
the broker says that its session saved, on the request and on the response.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812 -- its name everywhere

from mockbroker.pipeline.analyze.frames import (
    Options,
    Table,
    count,
    count_where,
    fetches,
    start_s,
    total,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_BYTES: Final = """
fetches BIGINT, request_bytes BIGINT, request_bytes_in_full BIGINT, response_bytes BIGINT,
response_bytes_in_full BIGINT, records_bytes BIGINT"""


def _class() -> Column:
    """Of a fetch that was answered, as the broker's metric FetchesAnswered counts it."""
    return F.coalesce(F.when(F.col("answered"), F.col("fetch.class")), F.lit("UNANSWERED"))


def _bytes() -> list[Column]:
    return [
        count().alias("fetches"),
        total("request_bytes").alias("request_bytes"),
        total("request_bytes + coalesce(fetch.request_bytes_saved, 0)").alias(
            "request_bytes_in_full"
        ),
        total("response_bytes").alias("response_bytes"),
        total("response_bytes + coalesce(fetch.response_bytes_saved, 0)").alias(
            "response_bytes_in_full"
        ),
        total("fetch.records_bytes").alias("records_bytes"),
    ]


def fetch_series(lines: DataFrame, options: Options) -> DataFrame:
    """Fetches by class for each step of the time axis."""
    at = start_s(options).alias("start_s")
    return fetches(lines).groupBy("side", at, _class().alias("class")).agg(*_bytes())


def fetch_clients(lines: DataFrame, _: Options) -> DataFrame:
    """Fetches by client and class."""
    return (
        fetches(lines)
        .groupBy("side", "client_id", _class().alias("class"))
        .agg(
            *_bytes(),
            total("fetch.partitions_requested").alias("partitions_requested"),
            total("fetch.partitions_answered").alias("partitions_answered"),
            count_where("error != 0").alias("with_errors"),
            count_where("fetch.high_watermarks_known > 0").alias("telling_high_watermarks"),
        )
    )


TABLES: Final = (
    Table(
        "fetch_series",
        f"side STRING, start_s DOUBLE, class STRING, {_BYTES}",
        fetch_series,
        "side, start_s, class",
    ),
    Table(
        "fetch_clients",
        f"side STRING, client_id STRING, class STRING, {_BYTES}, partitions_requested BIGINT,"
        " partitions_answered BIGINT, with_errors BIGINT, telling_high_watermarks BIGINT",
        fetch_clients,
        "fetches DESC, side, client_id, class",
    ),
)
