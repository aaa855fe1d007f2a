"""How long requests waited and for what; fetches woken in vain; how watermarks reach readers.

Called through `tables`. A fetch is woken in vain when news ended its wait and the answer has none:
no records, and no high watermark told because of it.
"""

from __future__ import annotations

from typing import Final

from mockbroker.pipeline.analyze.fragments import (
    QUANTILES,
    WOKEN_BY_NEWS,
    bucket_ms,
    by_client,
    microseconds,
    three_digits,
    with_quantiles,
)
from mockbroker.pipeline.analyze.table import Table

_NEWS: Final = f"cause IN {WOKEN_BY_NEWS} AND records_bytes = 0"
WATERMARK_ONLY: Final = f"({_NEWS} AND cause = 'high_watermark' AND high_watermarks_told > 0)"
IN_VAIN: Final = (
    f"({_NEWS} AND NOT (cause = 'high_watermark' AND coalesce(high_watermarks_told, 0) > 0))"
)

_TIMEOUTS: Final = "sum(CASE WHEN cause = 'timeout' THEN requests ELSE 0 END)"
_FETCHES: Final = "(SELECT * FROM request_cells WHERE is_fetch) AS of_fetches"

# -- high watermarks -----------------------------------------------------------------------

_CONNECTION: Final = "side, run, broker, connection"
_CELL_KEYS: Final = "side, client_id, reader, kip_1166, up_to_ms, delay_us"
_WATERMARK_CELLS: Final = f"""
WITH known AS (
  SELECT {_CONNECTION}, max(CASE WHEN high_watermarks_known > 0 THEN 1 ELSE 0 END) AS kip_1166
  FROM requests WHERE is_fetch GROUP BY {_CONNECTION}
), moved AS (
  SELECT side, run, broker, topic AS named_topic, partition, to_ AS high_watermark,
    min(at_ms) AS moved_ms
  FROM lines WHERE kind = 'high_watermark' GROUP BY side, run, broker, topic, partition, to_
), told AS (
  SELECT {_CONNECTION}, client_id, reader, named_topic, partition, high_watermark,
    min(completed_ms) AS told_ms
  FROM (SELECT *, CASE WHEN replica_id >= 0 THEN 'follower' ELSE 'consumer' END AS reader
    FROM fetched WHERE answered AND high_watermark >= 0) AS listed
  GROUP BY {_CONNECTION}, client_id, reader, named_topic, partition, high_watermark
), delayed AS (
  SELECT told.side AS side, client_id, reader, kip_1166, told_ms - moved_ms AS delay_ms
  FROM told
  JOIN moved ON told.side = moved.side AND told.run = moved.run AND told.broker = moved.broker
    AND told.named_topic = moved.named_topic AND told.partition = moved.partition
    AND told.high_watermark = moved.high_watermark
  JOIN known ON told.side = known.side AND told.run = known.run AND told.broker = known.broker
    AND told.connection = known.connection
), cut AS (
  SELECT *, {three_digits("us")} AS delay_us, {bucket_ms("delay_ms")} AS up_to_ms
  -- A watermark that moved before this client was there is no news to it.
  FROM (SELECT *, {microseconds("delay_ms")} AS us FROM delayed WHERE delay_ms >= 0) AS news
)
SELECT {_CELL_KEYS}, count(*) AS told, max(delay_ms) AS max_ms FROM cut GROUP BY {_CELL_KEYS}"""

TABLES: Final = (
    Table(
        "waits",
        f"side STRING, api STRING, cause STRING, requests BIGINT, {QUANTILES}",
        with_quantiles(
            "request_cells",
            ("side", "api", "cause"),
            {"requests": "sum(requests)", "max_ms": "max(max_ms)"},
        ),
        "requests DESC, side, api, cause",
        of=("request_cells",),
    ),
    Table(
        "wait_histogram",
        "side STRING, cause STRING, up_to_ms DOUBLE, requests BIGINT",
        "SELECT side, cause, up_to_ms, sum(requests) AS requests FROM request_cells WHERE is_fetch"
        " GROUP BY side, cause, up_to_ms",
        "side, cause, up_to_ms",
        of=("request_cells",),
    ),
    Table(
        "wait_histogram_clients",
        "side STRING, client_id STRING, cause STRING, up_to_ms DOUBLE, requests BIGINT",
        by_client("request_cells", ("cause", "up_to_ms"), ("requests",), "requests", "is_fetch"),
        of=("request_cells",),
        kept=False,
    ),
    Table(
        "fetch_waits",
        "side STRING, client_id STRING, fetches BIGINT, parked BIGINT, timed_out BIGINT,"
        " max_wait_hit_ratio DOUBLE, woken BIGINT, watermark_only BIGINT, in_vain BIGINT,"
        f" {QUANTILES}",
        with_quantiles(
            _FETCHES,
            ("side", "client_id"),
            {
                "fetches": "sum(requests)",
                "parked": "sum(parked)",
                "timed_out": _TIMEOUTS,
                "max_wait_hit_ratio": f"CAST({_TIMEOUTS} AS DOUBLE) / sum(requests)",
                "woken": f"sum(CASE WHEN cause IN {WOKEN_BY_NEWS} THEN requests ELSE 0 END)",
                "watermark_only": "sum(watermark_only)",
                "in_vain": "sum(in_vain)",
                "max_ms": "max(max_ms)",
            },
        ),
        "fetches DESC, side, client_id",
        of=("request_cells",),
    ),
    Table(
        "watermark_cells",
        "side STRING, client_id STRING, reader STRING, kip_1166 INT, up_to_ms DOUBLE,"
        " delay_us BIGINT, told BIGINT, max_ms DOUBLE",
        _WATERMARK_CELLS,
        kept=False,
        needs="watermarks",
    ),
    Table(
        "high_watermarks",
        f"side STRING, client_id STRING, reader STRING, kip_1166 BOOLEAN, told BIGINT, {QUANTILES}",
        with_quantiles(
            "(SELECT side, client_id, reader, kip_1166 > 0 AS kip_1166, delay_us,"
            " told AS weight, max_ms AS longest FROM watermark_cells) AS delays",
            ("side", "client_id", "reader", "kip_1166"),
            {"told": "sum(weight)", "max_ms": "max(longest)"},
            value="delay_us",
            weight="weight",
        ),
        "told DESC, side, client_id",
        of=("watermark_cells",),
    ),
    Table(
        "high_watermark_histogram",
        "side STRING, reader STRING, kip_1166 BOOLEAN, up_to_ms DOUBLE, told BIGINT",
        "SELECT side, reader, kip_1166 > 0 AS kip_1166, up_to_ms, sum(told) AS told"
        " FROM watermark_cells GROUP BY 1, 2, 3, 4",
        "side, reader, kip_1166, up_to_ms",
        of=("watermark_cells",),
    ),
    Table(
        "high_watermark_histogram_clients",
        "side STRING, client_id STRING, reader STRING, kip_1166 BOOLEAN, up_to_ms DOUBLE,"
        " told BIGINT",
        by_client(
            "(SELECT side, client_id, reader, kip_1166 > 0 AS kip_1166, up_to_ms, told"
            " FROM watermark_cells) AS delays",
            ("reader", "kip_1166", "up_to_ms"),
            ("told",),
            "told",
        ),
        of=("watermark_cells",),
        kept=False,
    ),
)
