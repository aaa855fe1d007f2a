"""Fetch classes over time and per client, with the bytes that sessions spared (KIP-227).

Called through `tables`. What a fetch would have cost in full is what went over the wire and what
the broker says that its session saved, on the request and on the response.
"""

from __future__ import annotations

from typing import Final

from mockbroker.pipeline.analyze.fragments import by_client, start_s, total
from mockbroker.pipeline.analyze.table import Table

_BYTES: Final = (
    "fetches BIGINT, request_bytes BIGINT, request_bytes_in_full BIGINT, response_bytes BIGINT,"
    " response_bytes_in_full BIGINT, records_bytes BIGINT"
)
_COUNTED: Final = (
    "fetches", "request_bytes", "request_bytes_in_full", "response_bytes",
    "response_bytes_in_full", "records_bytes",
)  # fmt: skip
_SUMS: Final = ", ".join(f"sum({name}) AS {name}" for name in _COUNTED)
CLASS: Final = "CASE WHEN answered AND class IS NOT NULL THEN class ELSE 'UNANSWERED' END"
"""Of a fetch that was answered, as the broker's metric FetchesAnswered counts it."""

TABLES: Final = (
    Table(
        "fetch_cells",
        f"side STRING, client_id STRING, start_s DOUBLE, class STRING, {_BYTES}",
        f"""
SELECT side, client_id, {start_s()} AS start_s, {CLASS} AS class, count(*) AS fetches,
  {total("request_bytes")} AS request_bytes,
  {total("request_bytes + coalesce(request_bytes_saved, 0)")} AS request_bytes_in_full,
  {total("response_bytes")} AS response_bytes,
  {total("response_bytes + coalesce(response_bytes_saved, 0)")} AS response_bytes_in_full,
  {total("records_bytes")} AS records_bytes
FROM requests WHERE is_fetch GROUP BY 1, 2, 3, 4""",
        kept=False,
        needs="fetches",
    ),
    Table(
        "fetch_series",
        f"side STRING, start_s DOUBLE, class STRING, {_BYTES}",
        f"SELECT side, start_s, class, {_SUMS} FROM fetch_cells GROUP BY side, start_s, class",
        "side, start_s, class",
        of=("fetch_cells",),
    ),
    Table(
        "fetch_series_clients",
        f"side STRING, client_id STRING, start_s DOUBLE, class STRING, {_BYTES}",
        by_client("fetch_cells", ("start_s", "class"), _COUNTED, "fetches"),
        of=("fetch_cells",),
        kept=False,
    ),
    Table(
        "fetch_clients",
        f"side STRING, client_id STRING, class STRING, {_BYTES}, partitions_requested BIGINT,"
        " partitions_answered BIGINT, with_errors BIGINT, telling_high_watermarks BIGINT",
        """
SELECT side, client_id, class, sum(requests) AS fetches, sum(request_bytes) AS request_bytes,
  sum(request_bytes_in_full) AS request_bytes_in_full, sum(response_bytes) AS response_bytes,
  sum(response_bytes_in_full) AS response_bytes_in_full, sum(records_bytes) AS records_bytes,
  sum(partitions_requested) AS partitions_requested,
  sum(partitions_answered) AS partitions_answered, sum(with_errors) AS with_errors,
  sum(telling_high_watermarks) AS telling_high_watermarks
FROM request_cells WHERE is_fetch GROUP BY side, client_id, class""",
        "fetches DESC, side, client_id, class",
        of=("request_cells",),
    ),
)
