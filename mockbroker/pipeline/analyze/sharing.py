"""Consumers that share partitions: what their filters cost and saved, and whether order was kept.

Called through `tables`. A filter looks at bytes so that the wire has fewer; what an earlier one
left over costs no look. Order within a key is kept if in one generation no two members read the
same slots, and none goes back.
"""

from __future__ import annotations

from typing import Final

from mockbroker.pipeline.analyze.fragments import count_where, total
from mockbroker.pipeline.analyze.table import Table

_GENERATION: Final = "side, run, group_, topic, partition, generation"
_SAME: Final = " AND ".join(
    f"{{0}}.{key} IS NOT DISTINCT FROM {{1}}.{key}" for key in _GENERATION.split(", ")
)
_FILTERING: Final = f"""
SELECT side, client_id, named_topic AS topic, count(*) AS fetches,
  {total("scanned_bytes")} AS scanned_bytes, {total("bytes")} AS sent_bytes,
  {total("greatest(scanned_bytes - bytes, 0)")} AS spared_bytes,
  {total("scanned_records")} AS scanned_records, {total("matched_records")} AS matched_records,
  {total("cache_hits")} AS cache_hits, {count_where("matched_records = 0")} AS in_vain
FROM fetched WHERE scanned_bytes IS NOT NULL GROUP BY side, client_id, named_topic"""
_KEY_ORDER: Final = f"""
WITH reads AS (
  SELECT side, run, seq, group_, named_topic AS topic, partition, generation, member, fetch_offset,
    next_offset
  FROM fetched WHERE has_slots AND next_offset IS NOT NULL AND error = 0 AND member IS NOT NULL
    AND generation >= 0
), stepped AS (
  SELECT *, fetch_offset < coalesce(max(next_offset) OVER (PARTITION BY {_GENERATION}, member
    ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS back FROM reads
), sums AS (
  SELECT {_GENERATION}, count(DISTINCT member) AS members, count(*) AS fetches,
    {count_where("back")} AS went_back
  FROM stepped GROUP BY {_GENERATION}
), owned AS (
  SELECT DISTINCT {_GENERATION}, member, lo, hi FROM read_slots
), pairs AS (
  SELECT DISTINCT a.side AS side, a.run AS run, a.group_ AS group_, a.topic AS topic,
    a.partition AS partition, a.generation AS generation, a.member AS member, b.member AS beside
  FROM owned AS a JOIN owned AS b ON {_SAME.format("a", "b")}
    AND a.member < b.member AND a.lo <= b.hi AND b.lo <= a.hi
), twice AS (
  SELECT {_GENERATION}, count(*) AS overlaps_ FROM pairs GROUP BY {_GENERATION}
)
SELECT sums.*, coalesce(overlaps_, 0) AS overlaps_,
  coalesce(overlaps_, 0) = 0 AND went_back = 0 AS kept
FROM sums LEFT JOIN twice ON {_SAME.format("sums", "twice")}"""
_RANGE_COMMITS: Final = f"""
SELECT side, group_, topic, partition, count(*) AS commits, sum(ranges) AS ranges,
  {count_where("error <> 0")} AS refused, max(stable) AS stable, max(held) AS most_held
FROM commits WHERE of_ranges GROUP BY side, group_, topic, partition"""

TABLES: Final = (
    Table(
        "filtering",
        "side STRING, client_id STRING, topic STRING, fetches BIGINT, scanned_bytes BIGINT,"
        " sent_bytes BIGINT, spared_bytes BIGINT, scanned_records BIGINT, matched_records BIGINT,"
        " cache_hits BIGINT, in_vain BIGINT",
        _FILTERING,
        "scanned_bytes DESC, side, client_id, topic",
        needs="filters",
    ),
    Table(
        "key_order",
        "side STRING, run STRING, group_ STRING, topic STRING, partition INT, generation INT,"
        " members BIGINT, fetches BIGINT, overlaps_ BIGINT, went_back BIGINT, kept BOOLEAN",
        _KEY_ORDER,
        "kept, side, run, group_, topic, partition, generation",
        needs="sharing",
    ),
    Table(
        "range_commits",
        "side STRING, group_ STRING, topic STRING, partition INT, commits BIGINT, ranges BIGINT,"
        " refused BIGINT, stable BIGINT, most_held BIGINT",
        _RANGE_COMMITS,
        "commits DESC, side, group_, topic, partition",
        needs="offsets",
    ),
)
