"""Rebalances of consumer groups: when each generation began, who came, how long it took.

Called through `tables`. Classic groups: from the first JoinGroup that was answered with the
generation to the last SyncGroup in it. KIP-848: from the first to the last member that heard of an
epoch in a heartbeat for the first time.
"""

from __future__ import annotations

from typing import Final

from mockbroker.pipeline.analyze.fragments import count_where
from mockbroker.pipeline.analyze.table import Table

_REBALANCES: Final = f"""
WITH asked AS (
  SELECT *, arrived_ms + shift_ms AS from_ms, completed_ms + shift_ms AS to_ms,
    CASE WHEN api = 'JoinGroup' THEN 'join' ELSE 'sync' END AS step,
    CASE WHEN api = 'SyncGroup' THEN generation ELSE answered_generation END AS heard
  FROM requests WHERE of_group AND answered AND group_error = 0
    AND api IN ('JoinGroup', 'SyncGroup', 'ConsumerGroupHeartbeat')
), steps AS (
  SELECT side, run, group_, 'classic' AS protocol_type, heard AS generation, member, step, leader,
    protocol, seq, from_ms, to_ms
  FROM asked WHERE api <> 'ConsumerGroupHeartbeat' AND heard >= 0
  UNION ALL
  SELECT side, run, group_, 'consumer', heard, member, 'join', CAST(NULL AS STRING),
    CAST(NULL AS STRING), min(seq), min(from_ms), min(to_ms)
  FROM asked WHERE api = 'ConsumerGroupHeartbeat' AND heard > 0
  GROUP BY side, run, group_, heard, member
), counted AS (
  SELECT side, run, group_, protocol_type, generation, min(from_ms) / 1e3 AS started_s,
    max(to_ms) / 1e3 AS ended_s, max(to_ms) - min(from_ms) AS took_ms,
    count(DISTINCT member) AS members, {count_where("step = 'join'")} AS joins,
    max(leader) AS leader, max(protocol) AS protocol, min(seq) AS first_seq
  FROM steps GROUP BY side, run, group_, protocol_type, generation
)
SELECT * FROM counted WHERE joins > 0"""

TABLES: Final = (
    Table(
        "rebalances",
        "side STRING, run STRING, group_ STRING, protocol_type STRING, generation INT,"
        " started_s DOUBLE, ended_s DOUBLE, took_ms DOUBLE, members BIGINT, joins BIGINT,"
        " leader STRING, protocol STRING, first_seq BIGINT",
        _REBALANCES,
        "side, started_s, group_, generation",
        needs="groups",
    ),
    Table(
        "group_requests",
        "side STRING, group_ STRING, api STRING, error INT, requests BIGINT",
        "SELECT side, group_, api, error, count(*) AS requests FROM requests WHERE of_group"
        " GROUP BY side, group_, api, error",
        "requests DESC, side, group_, api, error",
        needs="groups",
    ),
)
