"""The life of fetch sessions: how they came and went, and what caused errors 70 and 71.

Called through `tables`. A session event is written just before the request that brought it, so the
cause of an error is the event before it among the lines of that session id.
"""

from __future__ import annotations

from typing import Final

from mockbroker.pipeline.analyze.fragments import (
    FIRST_LINE,
    first_line,
    microseconds,
    start_s,
    three_digits,
    total,
    with_quantiles,
)
from mockbroker.pipeline.analyze.table import Table

SESSION_ID_NOT_FOUND: Final = 70
INVALID_FETCH_SESSION_EPOCH: Final = 71

_CELL_KEYS: Final = "side, event, rule, why, age_us, idle_us"
_SESSION_CELLS: Final = f"""
SELECT {_CELL_KEYS}, count(*) AS events, {total("partitions")} AS partitions,
  {total("abs(expected_epoch - epoch)")} AS epochs_lost
FROM (
  SELECT *, {three_digits("age")} AS age_us, {three_digits("idle")} AS idle_us
  FROM (SELECT *, {microseconds("age_ms")} AS age, {microseconds("idle_ms")} AS idle
    FROM lines WHERE kind = 'session') AS timed
) AS cut
GROUP BY {_CELL_KEYS}"""
_EVENT: Final = ("side", "event", "rule", "why")
_SAME: Final = " AND ".join(f"ages.{key} IS NOT DISTINCT FROM idles.{key}" for key in _EVENT)
_CELLS: Final = (
    "(SELECT side, event, rule, why, age_us, idle_us, events AS weight, partitions AS parts,"
    " epochs_lost AS lost FROM session_cells) AS cells"
)
_AGES: Final = with_quantiles(
    _CELLS,
    _EVENT,
    {"events": "sum(weight)", "partitions": "sum(parts)", "epochs_lost": "sum(lost)"},
    value="age_us",
    weight="weight",
    shares={"p50_age_ms": 50},
)
_IDLES: Final = with_quantiles(
    _CELLS, _EVENT, {"n": "sum(weight)"}, value="idle_us", weight="weight",
    shares={"p50_idle_ms": 50},
)  # fmt: skip

_SESSION: Final = "side, run, broker, session_id"
_SO_FAR: Final = f"""(PARTITION BY {_SESSION} ORDER BY seq
      ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"""
_TOLD: Final = "event IN ('not_found', 'wrong_epoch')"
# An answer that a fault made up has no event: what it says is the fault's.
_ERRORS: Final = f"""
SELECT side, client_id, error, cause, rule, count(*) AS requests, {total("lost_by")} AS epochs_lost,
  {FIRST_LINE} AS first_line
FROM (
  SELECT side, run, seq, client_id, error, lost_by,
    CASE WHEN fault IS NOT NULL THEN 'fault ' || fault ELSE coalesce(told_why, 'unknown') END
      AS cause,
    CASE WHEN fault IS NULL AND told_why = 'evicted' THEN ended_by END AS rule
  FROM (
    SELECT side, run, seq, client_id, error, fault,
      last(CASE WHEN {_TOLD} THEN NULL ELSE rule END IGNORE NULLS) OVER {_SO_FAR} AS ended_by,
      last(CASE WHEN {_TOLD} THEN why END IGNORE NULLS) OVER {_SO_FAR} AS told_why,
      lag(lost) OVER (PARTITION BY {_SESSION} ORDER BY seq) AS lost_by
    FROM (
      SELECT {_SESSION}, seq, event, rule, why, abs(expected_epoch - epoch) AS lost,
        CAST(NULL AS STRING) AS client_id, CAST(NULL AS INT) AS error, CAST(NULL AS STRING) AS fault
      FROM lines WHERE kind = 'session'
      UNION ALL
      SELECT {_SESSION}, seq, NULL, NULL, NULL, NULL, client_id,
        CASE WHEN session_not_found THEN {SESSION_ID_NOT_FOUND}
          ELSE {INVALID_FETCH_SESSION_EPOCH} END, fault
      FROM requests WHERE is_fetch AND (session_not_found OR wrong_epoch)
    ) AS joined
  ) AS traced
  WHERE error IS NOT NULL
) AS explained
GROUP BY side, client_id, error, cause, rule"""

TABLES: Final = (
    Table(
        "session_cells",
        "side STRING, event STRING, rule STRING, why STRING, age_us BIGINT, idle_us BIGINT,"
        " events BIGINT, partitions BIGINT, epochs_lost BIGINT",
        _SESSION_CELLS,
        kept=False,
        needs="sessions",
    ),
    Table(
        "session_events",
        "side STRING, event STRING, rule STRING, why STRING, events BIGINT, partitions BIGINT,"
        " p50_age_ms DOUBLE, p50_idle_ms DOUBLE, epochs_lost BIGINT",
        f"SELECT ages.*, p50_idle_ms FROM ({_AGES}) AS ages JOIN ({_IDLES}) AS idles ON {_SAME}",
        "side, events DESC, event, rule, why",
        of=("session_cells",),
    ),
    Table(
        "session_series",
        "side STRING, start_s DOUBLE, event STRING, events BIGINT",
        f"""
SELECT side, {start_s()} AS start_s, concat_ws(', ', event, rule) AS event, count(*) AS events
FROM lines WHERE kind = 'session' GROUP BY 1, 2, 3""",
        "side, start_s, event",
        needs="sessions",
    ),
    Table(
        "session_errors",
        "side STRING, client_id STRING, error INT, cause STRING, rule STRING, requests BIGINT,"
        " epochs_lost BIGINT, first_run STRING, first_seq BIGINT",
        f"""
SELECT side, client_id, error, cause, rule, requests, epochs_lost, {first_line("first_line")}
FROM ({_ERRORS}) AS counted""",
        "requests DESC, side, client_id, error, cause",
        needs="failures",
    ),
)
