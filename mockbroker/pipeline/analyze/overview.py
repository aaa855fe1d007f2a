"""What was read: runs, kinds of lines, APIs with their errors, the slowest requests, key figures.

Called through `tables`. `request_cells` is the one pass over all requests that most tables of
requests are made of: sums by client, API, cause and length of the wait.
"""

from __future__ import annotations

from typing import Final

from mockbroker.pipeline.analyze.fetching import CLASS
from mockbroker.pipeline.analyze.fragments import (
    FIRST_LINE,
    QUANTILES,
    WOKEN_BY_NEWS,
    bucket_ms,
    count_where,
    first_line,
    microseconds,
    three_digits,
    total,
    with_quantiles,
)
from mockbroker.pipeline.analyze.table import Table
from mockbroker.pipeline.analyze.waits import IN_VAIN, WATERMARK_ONLY

_CELL_KEYS: Final = "side, client_id, api, version, cause, is_fetch, class, wait_us, up_to_ms"
_CELLS: Final = f"""
SELECT {_CELL_KEYS}, count(*) AS requests, {count_where("error <> 0")} AS with_errors,
  {count_where("NOT answered")} AS unanswered, {count_where("fault IS NOT NULL")} AS faults,
  {count_where("parked")} AS parked,
  {total("request_bytes")} AS request_bytes, {total("response_bytes")} AS response_bytes,
  {total("request_bytes + coalesce(request_bytes_saved, 0)")} AS request_bytes_in_full,
  {total("response_bytes + coalesce(response_bytes_saved, 0)")} AS response_bytes_in_full,
  {total("records_bytes")} AS records_bytes,
  {total("partitions_requested")} AS partitions_requested,
  {total("partitions_answered")} AS partitions_answered,
  {count_where("high_watermarks_known > 0")} AS telling_high_watermarks,
  {count_where(f"is_fetch AND {WATERMARK_ONLY}")} AS watermark_only,
  {count_where(f"is_fetch AND {IN_VAIN}")} AS in_vain,
  {count_where("first_batch_overrun_bytes > 0")} AS overruns,
  {count_where("api = 'EndTxn' AND error = 0 AND outcome = 'commit'")} AS committed,
  {count_where("api = 'EndTxn' AND error = 0 AND outcome = 'abort'")} AS aborted,
  max(waited_ms) AS max_ms
FROM (SELECT side, client_id, api, version, cause, is_fetch, answered, error, fault, parked,
    waited_ms, request_bytes, response_bytes, request_bytes_saved, response_bytes_saved,
    records_bytes, partitions_requested, partitions_answered, high_watermarks_known,
    high_watermarks_told, first_batch_overrun_bytes, outcome,
    CASE WHEN is_fetch THEN {CLASS} END AS class, {three_digits("us")} AS wait_us,
    {bucket_ms("waited_ms")} AS up_to_ms
  FROM (SELECT *, {microseconds("waited_ms")} AS us FROM requests) AS timed) AS cut
GROUP BY {_CELL_KEYS}"""
_CELLS_DDL: Final = (
    "side STRING, client_id STRING, api STRING, version INT, cause STRING, is_fetch BOOLEAN,"
    " class STRING, wait_us BIGINT, up_to_ms DOUBLE, requests BIGINT, with_errors BIGINT,"
    " unanswered BIGINT,"
    " faults BIGINT, parked BIGINT, request_bytes BIGINT, response_bytes BIGINT,"
    " request_bytes_in_full BIGINT, response_bytes_in_full BIGINT, records_bytes BIGINT,"
    " partitions_requested BIGINT, partitions_answered BIGINT, telling_high_watermarks BIGINT,"
    " watermark_only BIGINT, in_vain BIGINT, overruns BIGINT, committed BIGINT, aborted BIGINT,"
    " max_ms DOUBLE"
)

_RUNS: Final = """
SELECT side, run, mockbroker, cluster_id, nodes, seed, began_ms AS started,
  coalesce((began_ms - min(began_ms) OVER (PARTITION BY side)) / 1e3, 0e0) AS starts_s,
  last_ms / 1e3 AS lasted_s, files, lines_ AS lines, dropped,
  CASE WHEN last_seq > numbered THEN last_seq - numbered ELSE 0 END AS missing
FROM (
  SELECT side, run, max(mockbroker) AS mockbroker, max(cluster_id) AS cluster_id,
    max(nodes) AS nodes, max(seed) AS seed, min_by(began_ms, first_seq) AS began_ms,
    sum(CASE WHEN kind = 'run' THEN lines_ ELSE 0 END) AS files, sum(lines_) AS lines_,
    sum(dropped) AS dropped, max(last_seq) AS last_seq, max(last_ms) AS last_ms,
    sum(CASE WHEN kind IN ('run', 'dropped') THEN 0 ELSE lines_ END) AS numbered
  FROM line_cells GROUP BY side, run
) AS found"""

RUNS: Final = Table(
    "runs",
    "side STRING, run STRING, mockbroker STRING, cluster_id STRING, nodes INT, seed STRING,"
    " started TIMESTAMP, starts_s DOUBLE, lasted_s DOUBLE, files BIGINT, lines BIGINT,"
    " dropped BIGINT, missing BIGINT",
    _RUNS,
    "side, started, run",
    of=("line_cells",),
)
"""Made first: it places all others on the time axis."""

# -- key figures ---------------------------------------------------------------------------

_OF_FETCH: Final = "CASE WHEN is_fetch THEN {} ELSE 0 END"


def _of_class(name: str) -> str:
    return total(f"CASE WHEN is_fetch AND class = '{name}' THEN requests ELSE 0 END")


def _of_fetch(column: str) -> str:
    return total(_OF_FETCH.format(column))


_WIRE: Final = _of_fetch("request_bytes + response_bytes")
_SPARED: Final = _of_fetch(
    "request_bytes_in_full - request_bytes + response_bytes_in_full - response_bytes"
)
_FETCHED: Final = _of_fetch("requests")
_TIMEOUTS: Final = _of_fetch("CASE WHEN cause = 'timeout' THEN requests ELSE 0 END")
_FIGURES: Final = {
    "requests": ("", total("requests")),
    "requests with errors": ("", total("with_errors")),
    "connections opened": ("", "max(connections_opened)"),
    "fetches": ("", _FETCHED),
    "full fetches": ("", _of_class("FULL")),
    "incremental fetches": ("", _of_class("INCREMENTAL")),
    "sessionless fetches": ("", _of_class("SESSIONLESS")),
    "unanswered fetches": ("", _of_fetch("unanswered")),
    "fetch bytes on the wire": ("B", _WIRE),
    "fetch bytes spared by sessions": ("B", _SPARED),
    "share spared by sessions": ("%", f"1e2 * {_SPARED} / nullif({_WIRE} + {_SPARED}, 0)"),
    "records fetched": ("B", _of_fetch("records_bytes")),
    "sessions opened": ("", "max(opened)"),
    "sessions evicted": ("", "max(evicted)"),
    "errors 70": ("", "max(not_found)"),
    "errors 71": ("", "max(wrong_epoch)"),
    "fetches that waited to max_wait": (
        "%",
        f"1e2 * {_TIMEOUTS} / nullif({_FETCHED}, 0)",
    ),
    "fetches woken by news": (
        "",
        _of_fetch(f"CASE WHEN cause IN {WOKEN_BY_NEWS} THEN requests ELSE 0 END"),
    ),
    "fetches woken in vain": ("", _of_fetch("in_vain")),
    "first batches beyond a limit": ("", _of_fetch("overruns")),
    "fetch wait p50": ("ms", "max(CASE WHEN waited_of = 'fetch' THEN p50_ms END)"),
    "fetch wait p99": ("ms", "max(CASE WHEN waited_of = 'fetch' THEN p99_ms END)"),
    "produce wait p99": ("ms", "max(CASE WHEN waited_of = 'produce' THEN p99_ms END)"),
    "transactions committed": ("", total("committed")),
    "transactions aborted": ("", total("aborted")),
}
_NAMES: Final = ", ".join(
    f"({place}, '{name}', '{unit}')" for place, (name, (unit, _)) in enumerate(_FIGURES.items())
)
_VALUES: Final = ", ".join(
    f"CAST({value} AS DOUBLE) AS f{place}" for place, (_, value) in enumerate(_FIGURES.values())
)
_CASES: Final = " ".join(f"WHEN {place} THEN f{place}" for place in range(len(_FIGURES)))
_EVENTS: Final = ", ".join(
    total(f"CASE WHEN event = '{name}' THEN lines_ END") + f" AS {name}"
    for name in ("opened", "evicted", "not_found", "wrong_epoch")
)
_CONNECTIONS: Final = total("CASE WHEN kind = 'connection_opened' THEN lines_ END")
_WAITED: Final = with_quantiles(
    "waits_of", ("side", "waited_of"), {"n": "sum(requests)"}, shares={"p50_ms": 50, "p99_ms": 99}
)
_KEY_FIGURES: Final = f"""
WITH counted AS (
  SELECT side, {_CONNECTIONS} AS connections_opened, {_EVENTS} FROM line_cells GROUP BY side
), cells AS (
  SELECT *, side AS of_side, CASE WHEN is_fetch THEN 'fetch' WHEN api = 'Produce' THEN 'produce'
    ELSE 'other' END AS wait_of FROM request_cells
), waits_of AS (
  SELECT *, wait_of AS waited_of FROM cells
), waited AS ({_WAITED}
), wide AS (
  SELECT counted.side AS side, {_VALUES}
  FROM counted LEFT JOIN cells ON counted.side = cells.of_side
    LEFT JOIN waited ON waited.side = cells.of_side AND waited.waited_of = cells.wait_of
  GROUP BY counted.side
)
SELECT side, place, figure, CASE place {_CASES} END AS value, unit
FROM wide CROSS JOIN (VALUES {_NAMES}) AS names(place, figure, unit)"""
_API: Final = ("side", "api", "version")
_API_SUMS: Final = {
    name: f"sum({name})"
    for name in ("with_errors", "unanswered", "faults", "request_bytes", "response_bytes")
}
_COUNTED: Final = with_quantiles(
    "(SELECT *, requests AS weight, max_ms AS longest FROM request_cells) AS cells", _API,
    {"requests": "sum(weight)", **_API_SUMS, "max_ms": "max(longest)"}, weight="weight",
)  # fmt: skip

TABLES: Final = (
    Table(
        "request_cells",
        _CELLS_DDL,
        _CELLS,
        kept=False,
    ),
    Table(
        "key_figures",
        "side STRING, place INT, figure STRING, value DOUBLE, unit STRING",
        _KEY_FIGURES,
        "side, place",
        of=("line_cells", "request_cells"),
    ),
    RUNS,
    Table(
        "kinds",
        "side STRING, kind STRING, lines BIGINT",
        "SELECT side, kind, sum(lines_) AS lines FROM line_cells GROUP BY side, kind",
        "lines DESC, side, kind",
        of=("line_cells",),
    ),
    Table(
        "apis",
        "side STRING, api STRING, version INT, requests BIGINT, clients BIGINT,"
        " with_errors BIGINT, unanswered BIGINT, faults BIGINT, request_bytes BIGINT,"
        f" response_bytes BIGINT, {QUANTILES}",
        f"""
SELECT counted.*, named.clients FROM ({_COUNTED}) AS counted
JOIN (SELECT side AS of_side, api AS of_api, version AS of_version,
  count(DISTINCT client_id) AS clients FROM request_cells GROUP BY side, api, version) AS named
ON side = of_side AND api IS NOT DISTINCT FROM of_api
  AND version IS NOT DISTINCT FROM of_version""",
        "requests DESC, side, api, version",
        of=("request_cells",),
    ),
    Table(
        "errors",
        "side STRING, api STRING, error INT, requests BIGINT, by_faults BIGINT,"
        " first_run STRING, first_seq BIGINT",
        f"""
SELECT side, api, error, requests, by_faults, {first_line("first_line")}
FROM (SELECT side, api, error, count(*) AS requests,
    {count_where("fault IS NOT NULL")} AS by_faults, {FIRST_LINE} AS first_line
  FROM failures GROUP BY side, api, error) AS counted""",
        "requests DESC, side, api, error",
        needs="failures",
    ),
    Table(
        "slowest",
        "side STRING, run STRING, seq BIGINT, client_id STRING, api STRING, cause STRING,"
        " error INT, fault STRING, waited_ms DOUBLE, max_wait_ms BIGINT, beyond_ms DOUBLE,"
        " topics STRING",
        """
SELECT side, run, seq, client_id, api, cause, error, fault, waited_ms, max_wait_ms, beyond_ms,
  topics
FROM (SELECT side, run, seq, client_id, api, cause, error, fault, waited_ms, first_topics AS topics,
    coalesce(max_wait_ms, 0) AS max_wait_ms,
    greatest(waited_ms - coalesce(max_wait_ms, 0), 0e0) AS beyond_ms FROM requests) AS timed
ORDER BY beyond_ms DESC NULLS LAST, waited_ms DESC NULLS LAST, side, run, seq LIMIT :slowest""",
        "beyond_ms DESC, waited_ms DESC, side, run, seq",
    ),
)
