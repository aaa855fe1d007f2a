"""Answers against the limits of their requests, and who is served when not all can be (KIP-74).

Called through `tables`. A partition is starved in an answer when the answer has records of others,
and none of it although it had some to give. An answer is limited when it starved a partition.
"""

from __future__ import annotations

from typing import Final

from mockbroker.pipeline.analyze.fragments import (
    by_client,
    count_where,
    three_digits,
    total,
    with_quantiles,
)
from mockbroker.pipeline.analyze.table import Table

_SIZE_KEYS: Final = "side, client_id, max_bytes, up_to_percent, answered, cut_bytes"
_TENTH: Final = "CAST(greatest(ceil(1e1 * records_bytes / max_bytes) * 10, 10) AS INT)"
_SIZE_CELLS: Final = f"""
SELECT {_SIZE_KEYS}, count(*) AS fetches, max(records_bytes) AS max_records_bytes,
  {count_where("records_bytes > 0")} AS with_records,
  {count_where("first_batch_overrun_bytes > 0")} AS overruns,
  max(first_batch_overrun_bytes) AS max_overrun_bytes
FROM (
  SELECT side, client_id, max_bytes, answered, records_bytes, first_batch_overrun_bytes,
    {three_digits("records_bytes")} AS cut_bytes,
    CASE WHEN records_bytes > 0 AND max_bytes > 0 THEN
      CASE WHEN records_bytes > max_bytes THEN 110 ELSE {_TENTH} END END AS up_to_percent
  FROM requests WHERE is_fetch
) AS filled
GROUP BY {_SIZE_KEYS}"""

_PART: Final = "side, client_id, topic, partition"
_PARTITION_SERVICE: Final = f"""
SELECT {_PART}, count(*) AS answers, {count_where("bytes > 0")} AS with_records,
  {total("bytes")} AS records_bytes, {count_where("starved")} AS starved,
  {count_where("limited AND bytes > 0")} AS served_when_limited,
  CAST(sum(position) AS DOUBLE) / count(*) AS mean_position
FROM fetched WHERE position IS NOT NULL GROUP BY {_PART}"""
_FAIRNESS: Final = f"""
SELECT side, client_id, count(*) AS partitions, sum(starved) AS starved,
  {count_where("served_when_limited = 0")} AS never_served,
  CAST(sum(served_when_limited) AS DOUBLE) * CAST(sum(served_when_limited) AS DOUBLE)
    / nullif(CAST(count(*) AS DOUBLE)
      * CAST(sum(served_when_limited * served_when_limited) AS DOUBLE), 0e0) AS jain_index
FROM partition_service WHERE served_when_limited > 0 OR starved > 0
GROUP BY side, client_id"""
_OVERRUNS: Final = """
SELECT side, run, seq, client_id, first_batch_overrun_bytes AS overrun_bytes, max_bytes,
  records_bytes, topic
FROM requests WHERE is_fetch AND first_batch_overrun_bytes > 0
ORDER BY overrun_bytes DESC, side, run, seq LIMIT :slowest"""

TABLES: Final = (
    Table(
        "size_cells",
        "side STRING, client_id STRING, max_bytes BIGINT, up_to_percent INT, answered BOOLEAN,"
        " cut_bytes BIGINT, fetches BIGINT, max_records_bytes BIGINT, with_records BIGINT,"
        " overruns BIGINT, max_overrun_bytes BIGINT",
        _SIZE_CELLS,
        kept=False,
        needs="fetches",
    ),
    Table(
        "response_sizes",
        "side STRING, client_id STRING, max_bytes BIGINT, fetches BIGINT, with_records BIGINT,"
        " p50_records_bytes BIGINT, p99_records_bytes BIGINT, max_records_bytes BIGINT,"
        " overruns BIGINT, max_overrun_bytes BIGINT",
        with_quantiles(
            "(SELECT side, client_id, max_bytes, cut_bytes, fetches AS weight, with_records AS w,"
            " max_records_bytes AS m, overruns AS o, max_overrun_bytes AS mo"
            " FROM size_cells WHERE answered) AS answers",
            ("side", "client_id", "max_bytes"),
            {
                "fetches": "sum(weight)",
                "with_records": "sum(w)",
                "max_records_bytes": "max(m)",
                "overruns": "sum(o)",
                "max_overrun_bytes": "max(mo)",
            },
            value="cut_bytes",
            weight="weight",
            shares={"p50_records_bytes": 50, "p99_records_bytes": 99},
            scale="",
        ),
        "fetches DESC, side, client_id",
        of=("size_cells",),
    ),
    Table(
        "response_fill",
        "side STRING, up_to_percent INT, fetches BIGINT",
        "SELECT side, up_to_percent, sum(fetches) AS fetches FROM size_cells"
        " WHERE up_to_percent IS NOT NULL GROUP BY side, up_to_percent",
        "side, up_to_percent",
        of=("size_cells",),
    ),
    Table(
        "response_fill_clients",
        "side STRING, client_id STRING, up_to_percent INT, fetches BIGINT",
        by_client(
            "size_cells", ("up_to_percent",), ("fetches",), "fetches", "up_to_percent IS NOT NULL"
        ),
        of=("size_cells",),
        kept=False,
    ),
    Table(
        "partition_service",
        "side STRING, client_id STRING, topic STRING, partition INT, answers BIGINT,"
        " with_records BIGINT, records_bytes BIGINT, starved BIGINT, served_when_limited BIGINT,"
        " mean_position DOUBLE",
        _PARTITION_SERVICE,
        "starved DESC, answers DESC, side, client_id, topic, partition",
        needs="fetches",
    ),
    Table(
        "fairness",
        "side STRING, client_id STRING, partitions BIGINT, starved BIGINT, never_served BIGINT,"
        " jain_index DOUBLE",
        _FAIRNESS,
        "jain_index, side, client_id",
        of=("partition_service",),
    ),
    Table(
        "first_overruns",
        "side STRING, run STRING, seq BIGINT, client_id STRING, overrun_bytes BIGINT,"
        " max_bytes BIGINT, records_bytes BIGINT, topic STRING",
        _OVERRUNS,
        "overrun_bytes DESC, side, run, seq",
        needs="fetches",
    ),
)
