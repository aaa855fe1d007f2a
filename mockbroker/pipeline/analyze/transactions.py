"""Transactions and how they ended, from what their producers asked for.

Called through `tables`. A transaction begins with the first request for it after the last end;
EndTxn ends it. One that InitProducerId cuts off was left by its producer and aborted by the
coordinator; one without an end in the journal is open.
"""

from __future__ import annotations

from typing import Final

from mockbroker.pipeline.analyze.fragments import (
    QUANTILES,
    count_where,
    microseconds,
    three_digits,
    with_quantiles,
)
from mockbroker.pipeline.analyze.table import Table

_ID: Final = "side, run, transactional_id"
_ENDS: Final = "(api = 'EndTxn' AND error = 0) OR api = 'InitProducerId'"
_OUTCOME: Final = """CASE WHEN last_api = 'InitProducerId' THEN 'left'
  WHEN last_api = 'EndTxn' AND last_error = 0 THEN last_outcome
  WHEN last_error IN (47, 90) THEN 'fenced'
  WHEN last_error <> 0 THEN 'failed' ELSE 'open' END"""
# To look for the coordinator begins nothing. What InitProducerId or an EndTxn finds without work
# before it is no transaction.
_TRANSACTIONS: Final = f"""
WITH steps AS (
  SELECT {_ID}, seq, client_id, api, error, outcome, arrived_ms, completed_ms,
    arrived_ms + shift_ms AS from_ms,
    coalesce(sum(CASE WHEN {_ENDS} THEN 1 ELSE 0 END) OVER (PARTITION BY {_ID} ORDER BY seq
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS number
  FROM requests WHERE transactional_id IS NOT NULL AND api <> 'FindCoordinator'
), ranked AS (
  SELECT *, row_number() OVER (PARTITION BY {_ID}, number ORDER BY seq DESC) AS from_last FROM steps
), ended AS (
  SELECT {_ID}, number, min(from_ms) / 1e3 AS started_s,
    max(completed_ms) - min(arrived_ms) AS took_ms,
    {count_where("api NOT IN ('InitProducerId', 'EndTxn')")} AS steps,
    {count_where("error <> 0")} AS errors,
    max(CASE WHEN from_last = 1 THEN client_id END) AS client_id,
    max(CASE WHEN from_last = 1 THEN api END) AS last_api,
    max(CASE WHEN from_last = 1 THEN outcome END) AS last_outcome,
    max(CASE WHEN from_last = 1 THEN error END) AS last_error,
    min(seq) AS first_seq, max(seq) AS last_seq
  FROM ranked GROUP BY {_ID}, number
)
SELECT *, {_OUTCOME} AS outcome FROM ended
WHERE steps > 0 OR (last_api = 'EndTxn' AND last_error <> 0)"""

TABLES: Final = (
    Table(
        "transactions",
        "side STRING, run STRING, transactional_id STRING, client_id STRING, outcome STRING,"
        " started_s DOUBLE, took_ms DOUBLE, steps BIGINT, errors BIGINT, last_error INT,"
        " first_seq BIGINT, last_seq BIGINT",
        _TRANSACTIONS,
        "side, started_s, transactional_id",
        large=True,
        needs="txns",
    ),
    Table(
        "transaction_outcomes",
        f"side STRING, transactional_id STRING, outcome STRING, transactions BIGINT, {QUANTILES}",
        with_quantiles(
            f"(SELECT *, {three_digits('us')} AS took_us, 1 AS weight FROM"
            f" (SELECT *, {microseconds('took_ms')} AS us FROM transactions) AS timed) AS taken",
            ("side", "transactional_id", "outcome"),
            {"transactions": "sum(weight)", "max_ms": "max(took_ms)"},
            value="took_us",
            weight="weight",
        ),
        "transactions DESC, side, transactional_id, outcome",
        of=("transactions",),
    ),
)
