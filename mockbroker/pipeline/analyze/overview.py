"""What was read: runs, kinds of lines, APIs with their errors, the slowest requests, key figures.

Called through `tables`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812 -- its name everywhere

from mockbroker.pipeline.analyze.frames import (
    QUANTILES,
    WOKEN_BY_NEWS,
    Options,
    Table,
    count,
    count_where,
    quantiles,
    requests,
    total,
)
from mockbroker.pipeline.analyze.waits import IN_VAIN

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def runs(lines: DataFrame, _: Options) -> DataFrame:
    """One row for each run of a broker, placed on its side's time axis by `starts_s`.

    `missing`: numbers that no line has, because they were dropped or cut off.
    """
    numbered = F.count_if(~F.col("kind").isin("run", "dropped"))
    found = lines.groupBy("side", "run").agg(
        F.max("mockbroker").alias("mockbroker"),
        F.max("cluster_id").alias("cluster_id"),
        F.max(F.size("nodes")).alias("nodes"),
        F.max("seed").alias("seed"),
        F.min_by(F.col("wall_ms") - F.col("at_ms"), F.col("seq")).alias("began_ms"),
        F.count_if(F.col("kind") == "run").alias("files"),
        count().alias("lines"),
        total("if(kind = 'dropped', lines, 0)").alias("dropped"),
        F.greatest(F.max("seq") - numbered, F.lit(0)).alias("missing"),
        (F.max("at_ms") / 1000).alias("lasted_s"),
    )
    first = found.groupBy("side").agg(F.min("began_ms").alias("first_ms"))
    placed = (F.col("began_ms") - F.col("first_ms")) / 1000
    return found.join(F.broadcast(first), "side").select(
        "*",
        F.timestamp_millis(F.col("began_ms").cast("bigint")).alias("started"),
        F.coalesce(placed, F.lit(0.0)).alias("starts_s"),
    )


def kinds(lines: DataFrame, _: Options) -> DataFrame:
    """Lines by kind."""
    return lines.groupBy("side", "kind").agg(count().alias("lines"))


def apis(lines: DataFrame, _: Options) -> DataFrame:
    """Requests by API and version."""
    return (
        requests(lines)
        .groupBy("side", "api", "version")
        .agg(
            count().alias("requests"),
            F.approx_count_distinct("client_id").alias("clients"),
            count_where("error != 0").alias("with_errors"),
            count_where("NOT answered").alias("unanswered"),
            count_where("fault IS NOT NULL").alias("faults"),
            total("request_bytes").alias("request_bytes"),
            total("response_bytes").alias("response_bytes"),
            *quantiles("waited_ms"),
        )
    )


def errors(lines: DataFrame, _: Options) -> DataFrame:
    """Requests by API and each distinct error in the answer."""
    return (
        requests(lines)
        .withColumn("code", F.explode("errors"))
        .groupBy("side", "api", F.col("code").alias("error"))
        .agg(
            count().alias("requests"),
            count_where("fault IS NOT NULL").alias("by_faults"),
            F.min_by("run", "seq").alias("first_run"),
            F.min("seq").alias("first_seq"),
        )
    )


def slowest(lines: DataFrame, options: Options) -> DataFrame:
    """The requests that took longest beyond what they asked to wait."""
    asked_ms = F.coalesce("fetch.max_wait_ms", F.lit(0))
    return (
        requests(lines)
        .select(
            "side", "run", "seq", "client_id", "api", "cause", "error", "fault", "waited_ms",
            asked_ms.alias("max_wait_ms"),
            F.greatest(F.col("waited_ms") - asked_ms, F.lit(0.0)).alias("beyond_ms"),
            F.concat_ws(", ", F.slice("topics", 1, 3)).alias("topics"),
        )
        .orderBy(F.desc("beyond_ms"), F.desc("waited_ms"), "side", "run", "seq")
        .limit(options.slowest)
    )  # fmt: skip


# -- key figures ---------------------------------------------------------------------------

_FETCH: Final = "api = 'Fetch' AND fetch IS NOT NULL"


def _figures() -> dict[str, tuple[str, Column]]:
    """Name to unit and value: what the page and a comparison begin with."""
    fetch = f"({_FETCH})"
    fetched = count_where(fetch)

    def of_class(name: str) -> Column:
        return count_where(f"{fetch} AND answered AND fetch.class = '{name}'")

    wire = total(f"if({fetch}, request_bytes + response_bytes, 0)")
    spared = total(
        f"if({fetch}, coalesce(fetch.request_bytes_saved, 0)"
        " + coalesce(fetch.response_bytes_saved, 0), 0)"
    )
    session = {
        name: count_where(f"kind = 'session' AND event = '{name}'")
        for name in ("opened", "evicted", "not_found", "wrong_epoch")
    }
    return {
        "requests": ("", count_where("kind = 'request'")),
        "requests with errors": ("", count_where("kind = 'request' AND error != 0")),
        "connections opened": ("", count_where("kind = 'connection_opened'")),
        "fetches": ("", fetched),
        "full fetches": ("", of_class("FULL")),
        "incremental fetches": ("", of_class("INCREMENTAL")),
        "sessionless fetches": ("", of_class("SESSIONLESS")),
        "unanswered fetches": ("", count_where(f"{fetch} AND NOT answered")),
        "fetch bytes on the wire": ("B", wire),
        "fetch bytes spared by sessions": ("B", spared),
        "share spared by sessions": ("%", 100 * spared / F.nullif(wire + spared, F.lit(0))),
        "records fetched": ("B", total(f"if({fetch}, fetch.records_bytes, 0)")),
        "sessions opened": ("", session["opened"]),
        "sessions evicted": ("", session["evicted"]),
        "errors 70": ("", session["not_found"]),
        "errors 71": ("", session["wrong_epoch"]),
        "fetches that waited to max_wait": (
            "%", 100 * count_where(f"{fetch} AND cause = 'timeout'") / F.nullif(fetched, F.lit(0))
        ),
        "fetches woken by news": ("", count_where(f"{fetch} AND cause IN {WOKEN_BY_NEWS}")),
        "fetches woken in vain": ("", count_where(f"{fetch} AND {IN_VAIN}")),
        "first batches beyond a limit": (
            "", count_where(f"{fetch} AND fetch.first_batch_overrun_bytes > 0")
        ),
        "fetch wait p50": ("ms", _quantile(fetch, 0.5)),
        "fetch wait p99": ("ms", _quantile(fetch, 0.99)),
        "produce wait p99": ("ms", _quantile("api = 'Produce'", 0.99)),
        "transactions committed": ("", _ended("commit")),
        "transactions aborted": ("", _ended("abort")),
    }  # fmt: skip


def _ended(outcome: str) -> Column:
    return count_where(f"api = 'EndTxn' AND error = 0 AND txn.outcome = '{outcome}'")


def _quantile(condition: str, share: float) -> Column:
    return F.percentile_approx(F.expr(f"if({condition}, waited_ms, NULL)"), share)


def key_figures(lines: DataFrame, _: Options) -> DataFrame:
    """The figures that are looked at first, a row each."""
    named = _figures()
    row = lines.groupBy("side").agg(
        *(value.cast("double").alias(f"f{n}") for n, (_, value) in enumerate(named.values()))
    )
    cells = [
        F.struct(
            F.lit(n).alias("place"),
            F.lit(name).alias("figure"),
            F.col(f"f{n}").alias("value"),
            F.lit(unit).alias("unit"),
        )
        for n, (name, (unit, _)) in enumerate(named.items())
    ]
    return row.select("side", F.inline(F.array(*cells)))


TABLES: Final = (
    Table(
        "key_figures",
        "side STRING, place INT, figure STRING, value DOUBLE, unit STRING",
        key_figures,
        "side, place",
    ),
    Table(
        "runs",
        "side STRING, run STRING, mockbroker STRING, cluster_id STRING, nodes INT, seed STRING,"
        " started TIMESTAMP, starts_s DOUBLE, lasted_s DOUBLE, files BIGINT, lines BIGINT,"
        " dropped BIGINT, missing BIGINT",
        runs,
        "side, started, run",
        source="untimed",
    ),
    Table("kinds", "side STRING, kind STRING, lines BIGINT", kinds, "lines DESC, side, kind"),
    Table(
        "apis",
        "side STRING, api STRING, version INT, requests BIGINT, clients BIGINT,"
        " with_errors BIGINT, unanswered BIGINT, faults BIGINT, request_bytes BIGINT,"
        f" response_bytes BIGINT, {QUANTILES}",
        apis,
        "requests DESC, side, api, version",
    ),
    Table(
        "errors",
        "side STRING, api STRING, error INT, requests BIGINT, by_faults BIGINT,"
        " first_run STRING, first_seq BIGINT",
        errors,
        "requests DESC, side, api, error",
    ),
    Table(
        "slowest",
        "side STRING, run STRING, seq BIGINT, client_id STRING, api STRING, cause STRING,"
        " error INT, fault STRING, waited_ms DOUBLE, max_wait_ms BIGINT, beyond_ms DOUBLE,"
        " topics STRING",
        slowest,
        "beyond_ms DESC, waited_ms DESC, side, run, seq",
    ),
)
