"""Transactions and how they ended, from what their producers asked for.

Called through `tables`. A transaction begins with the first request for it after the last end;
EndTxn ends it. One that InitProducerId cuts off was left by its producer and aborted by the
coordinator; one without an end in the journal is open.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812 -- its name everywhere

from mockbroker.pipeline.analyze.frames import QUANTILES, Options, Table, count, quantiles, requests

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def transactions(lines: DataFrame, _: Options) -> DataFrame:
    """One row for each transaction."""
    # To look for the coordinator begins nothing.
    asked = requests(lines).where("txn.transactional_id IS NOT NULL AND api != 'FindCoordinator'")
    steps = asked.select(
        "side", "run", "seq", "client_id", "api", "arrived_ms", "completed_ms",
        (F.col("t_ms") - F.col("at_ms")).alias("shift_ms"),
        F.col("txn.transactional_id").alias("transactional_id"),
        F.col("txn.outcome").alias("outcome"),
        F.col("error"),
    )  # fmt: skip
    ends = ((F.col("api") == "EndTxn") & (F.col("error") == 0)) | (F.col("api") == "InitProducerId")
    before = (
        Window.partitionBy("side", "run", "transactional_id")
        .orderBy("seq")
        .rowsBetween(Window.unboundedPreceding, -1)
    )
    number = F.coalesce(F.sum(ends.cast("int")).over(before), F.lit(0))
    worked = ~F.col("api").isin("InitProducerId", "EndTxn")
    return (
        steps.withColumn("number", number)
        .groupBy("side", "run", "transactional_id", "number")
        .agg(
            F.max_by("client_id", "seq").alias("client_id"),
            (F.min(F.col("arrived_ms") + F.col("shift_ms")) / 1000).alias("started_s"),
            (F.max("completed_ms") - F.min("arrived_ms")).alias("took_ms"),
            F.count_if(worked).alias("steps"),
            F.count_if(F.col("error") != 0).alias("errors"),
            F.max_by("api", "seq").alias("last_api"),
            F.max_by("outcome", "seq").alias("last_outcome"),
            F.max_by("error", "seq").alias("last_error"),
            F.min("seq").alias("first_seq"),
            F.max("seq").alias("last_seq"),
        )
        # What InitProducerId or an EndTxn finds without work before it is no transaction.
        .where("steps > 0 OR (last_api = 'EndTxn' AND last_error != 0)")
        .withColumn("outcome", _outcome())
    )


def _outcome() -> Column:
    return F.expr(
        "CASE WHEN last_api = 'InitProducerId' THEN 'left'"
        " WHEN last_api = 'EndTxn' AND last_error = 0 THEN last_outcome"
        " WHEN last_error IN (47, 90) THEN 'fenced'"
        " WHEN last_error != 0 THEN 'failed' ELSE 'open' END"
    )


def transaction_outcomes(all_of_them: DataFrame, _: Options) -> DataFrame:
    """Transactions by id and outcome."""
    return all_of_them.groupBy("side", "transactional_id", "outcome").agg(
        count().alias("transactions"), *quantiles("took_ms")
    )


TABLES: Final = (
    Table(
        "transactions",
        "side STRING, run STRING, transactional_id STRING, client_id STRING, outcome STRING,"
        " started_s DOUBLE, took_ms DOUBLE, steps BIGINT, errors BIGINT, last_error INT,"
        " first_seq BIGINT, last_seq BIGINT",
        transactions,
        "side, started_s, transactional_id",
    ),
    Table(
        "transaction_outcomes",
        f"side STRING, transactional_id STRING, outcome STRING, transactions BIGINT, {QUANTILES}",
        transaction_outcomes,
        "transactions DESC, side, transactional_id, outcome",
        source="transactions",
    ),
)
