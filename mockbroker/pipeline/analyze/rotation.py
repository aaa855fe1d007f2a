"""How partitions take turns over time: fetches that passed one over while it had data (KIP-74).

Called through `tables`; the relation `readers` numbers the fetches of each. A reader is a fetch
session, or a connection where there is none. A turn begins when a reader asks for a partition from
a position, and ends when it is served from there. Each of the reader's fetches in between that
could have served it has passed it over: it was answered after the high watermark went beyond the
position. A rotation that is even passes each partition over as often as any other, however many
there are.

An incremental fetch does not name again what it asked for before, so positions are carried on, and
the high watermarks' own lines tell when data came. Readers that wait for transactions
(isolation level 1) are left out: no line tells when their last stable offset moved.
"""

from __future__ import annotations

from typing import Final

from mockbroker.pipeline.analyze.fragments import count_where, power_of_two, total
from mockbroker.pipeline.analyze.table import Table

DRAWN: Final = 24
"""So many partitions of a side are followed over time: those that were passed over most."""

# What tells most apart stands first, for engines that sort.
_READER: Final = "reader, session, connection, broker, run, side"
_ASKED: Final = "reader, partition, topic, session, connection, broker, run, side"
_LOG: Final = "partition, topic, broker, run, side"
_TURN: Final = "side, run, broker, client_id, session, connection, topic, partition"
_STARVED: Final = "NOT served AND named IS NOT NULL AND told > fetch_offset"

_SERVINGS: Final = f"""
WITH carried AS (
  -- Whoever was served asks from elsewhere next, and says so: it is nowhere (-1) until then.
  -- What is neither named nor served changes nothing.
  SELECT *, last(CASE WHEN served THEN -1 ELSE named END IGNORE NULLS)
    OVER (PARTITION BY {_ASKED} ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
    AS left_at
  FROM reader_parts WHERE named IS NOT NULL OR served
), told_turns AS (
  SELECT *, coalesce(named, left_at) AS fetch_offset,
    sum(CASE WHEN named IS NOT NULL AND coalesce(named <> left_at, true) THEN 1 ELSE 0 END)
    OVER (PARTITION BY {_ASKED} ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
    AS turn
  FROM carried WHERE coalesce(named, left_at) <> -1
), turns AS (
  SELECT *, lead(asked_n) OVER (PARTITION BY {_ASKED} ORDER BY turn) AS next_n
  FROM (
    SELECT {_ASKED}, turn, min(fetch_offset) AS fetch_offset,
      min(n) AS asked_n, min(seq) AS asked_seq, min(t_ms) AS asked_ms,
      min(CASE WHEN {_STARVED} THEN n END) AS starved_n,
      {count_where(_STARVED)} AS starved,
      max(CASE WHEN served THEN n END) AS served_n,
      max(CASE WHEN served THEN seq END) AS served_seq,
      max(CASE WHEN served THEN t_ms END) AS served_ms
    FROM told_turns GROUP BY {_ASKED}, turn
  ) AS grouped
), moves AS (
  SELECT {_LOG}, seq AS moved_seq, t_ms AS moved_ms, to_ AS moved_end, from_ AS fetch_offset
  FROM lines WHERE kind = 'high_watermark' AND to_ > from_
), placed_turns AS (
  -- Turns with the move of the high watermark that put data there, if the journal has it.
  -- Without it what the answers told counts: they had a high watermark beyond the position.
  SELECT *, last(moved_seq IGNORE NULLS) OVER w AS latest_seq,
    last(moved_ms IGNORE NULLS) OVER w AS latest_ms,
    last(moved_end IGNORE NULLS) OVER w AS latest_end
  FROM (
    SELECT {_ASKED}, fetch_offset, asked_n, asked_seq, asked_ms, starved_n, starved,
      served_n, served_seq, served_ms, next_n, CAST(NULL AS BIGINT) AS moved_seq,
      CAST(NULL AS DOUBLE) AS moved_ms, CAST(NULL AS BIGINT) AS moved_end, 1 AS is_turn
    FROM turns
    UNION ALL
    SELECT NULL, partition, topic, NULL, NULL, broker, run, side, fetch_offset, NULL, NULL, NULL,
      NULL, NULL, NULL, NULL, NULL, NULL, moved_seq, moved_ms, moved_end, 0
    FROM moves
  ) AS joined
  WINDOW w AS (PARTITION BY {_LOG} ORDER BY fetch_offset, is_turn, coalesce(moved_seq, asked_seq)
    ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
), with_data AS (
  SELECT *, CASE WHEN latest_end > fetch_offset THEN latest_seq END AS available_seq,
    CASE WHEN latest_end > fetch_offset THEN latest_ms END AS available_ms
  FROM placed_turns WHERE asked_n IS NOT NULL
), marked AS (
  -- How many of its fetches a reader had sent when data came, and in all; and who it is.
  SELECT *, coalesce(sum(is_fetch) OVER (PARTITION BY {_READER} ORDER BY at_seq), 0) AS seen,
    sum(is_fetch) OVER (PARTITION BY {_READER}) AS fetches,
    min(client) OVER (PARTITION BY {_READER}) AS client_id
  FROM (
    SELECT {_ASKED}, fetch_offset, asked_n, asked_seq, asked_ms, starved_n, starved,
      served_n, served_seq, served_ms, next_n, available_seq, available_ms,
      coalesce(available_seq, -1) AS at_seq, 0 AS is_fetch, CAST(NULL AS STRING) AS client
    FROM with_data WHERE coalesce(available_seq, starved_n, served_n) IS NOT NULL
    UNION ALL
    SELECT reader, NULL, NULL, session, connection, broker, run, side, NULL, NULL, NULL, NULL, NULL,
      NULL, NULL, NULL, NULL, NULL, NULL, NULL, seq, 1, client_id
    FROM readers
  ) AS all_of_them
), measured AS (
  -- Without a session a fetch names all that it wants, and the answer tells of all of it.
  SELECT *, CASE WHEN session = 0 THEN starved ELSE greatest(
      coalesce(served_n, next_n, fetches + 1)
      - CASE WHEN available_seq IS NOT NULL THEN greatest(asked_n, seen + 1)
          ELSE coalesce(starved_n, served_n) END, 0) END AS passed_over
  FROM marked WHERE asked_n IS NOT NULL
)
SELECT {_TURN}, fetch_offset, asked_seq, available_seq, served_seq, passed_over,
  coalesce(served_ms, asked_ms) / 1e3 AS at_s,
  CASE WHEN served_ms IS NOT NULL
    THEN served_ms - greatest(asked_ms, coalesce(available_ms, asked_ms)) END AS waited_ms
FROM measured WHERE served_n IS NOT NULL OR passed_over > 0"""

_SUMS: Final = (
    "count(served_seq) AS servings,"
    f" {total('CASE WHEN served_seq IS NOT NULL THEN passed_over END')} AS passed_over,"
    " max(passed_over) AS max_passed_over"
)
_RANKED: Final = f"""
SELECT *, sum(weight) OVER (PARTITION BY {_TURN} ORDER BY of_served) AS upto,
  sum(weight) OVER (PARTITION BY {_TURN}) AS whole
FROM (SELECT *, CASE WHEN served_seq IS NOT NULL THEN 1 ELSE 0 END AS weight,
  CASE WHEN served_seq IS NOT NULL THEN passed_over END AS of_served FROM servings) AS weighed"""
_ROTATION: Final = f"""
SELECT {_TURN}, {_SUMS},
  min(CASE WHEN upto * 100 >= 50 * whole THEN of_served END) AS p50_passed_over,
  {total("CASE WHEN served_seq IS NULL THEN passed_over END")} AS passed_over_unserved,
  max(waited_ms) AS max_waited_ms
FROM ({_RANKED}) AS ranked GROUP BY {_TURN}"""
_KEYS: Final = "side, client_id, topic, partition"
_SERIES: Final = f"""
SELECT t.side, t.client_id, t.topic, t.partition, place,
  floor(at_s / (:bin_ms / 1e3)) * (:bin_ms / 1e3) AS start_s, {_SUMS}
FROM servings AS t JOIN (
  SELECT *, row_number() OVER (PARTITION BY side ORDER BY all_passed DESC, all_turns DESC,
    client_id, topic, partition) AS place
  FROM (SELECT {_KEYS}, sum(passed_over) AS all_passed, count(*) AS all_turns
    FROM servings GROUP BY {_KEYS}) AS counted
) AS drawn
ON t.side = drawn.side AND t.client_id = drawn.client_id AND t.topic = drawn.topic
  AND t.partition = drawn.partition
WHERE place <= {DRAWN}
GROUP BY 1, 2, 3, 4, 5, 6"""

_READER_DDL: Final = (
    "side STRING, run STRING, broker INT, client_id STRING, session BIGINT, connection BIGINT,"
    " topic STRING, partition INT"
)
_SUMS_DDL: Final = "servings BIGINT, passed_over BIGINT, max_passed_over BIGINT"

TABLES: Final = (
    Table(
        "servings",
        f"{_READER_DDL}, fetch_offset BIGINT, asked_seq BIGINT, available_seq BIGINT,"
        " served_seq BIGINT, at_s DOUBLE, passed_over BIGINT, waited_ms DOUBLE",
        _SERVINGS,
        "passed_over DESC, side, run, asked_seq",
        large=True,
        needs="fetches",
    ),
    Table(
        "rotation",
        f"{_READER_DDL}, {_SUMS_DDL}, p50_passed_over BIGINT, passed_over_unserved BIGINT,"
        " max_waited_ms DOUBLE",
        _ROTATION,
        "passed_over_unserved DESC, max_passed_over DESC, passed_over DESC, side, client_id,"
        " topic, partition",
        of=("servings",),
    ),
    Table(
        "rotation_series",
        f"side STRING, client_id STRING, topic STRING, partition INT, place INT, start_s DOUBLE,"
        f" {_SUMS_DDL}",
        _SERIES,
        "place, start_s, side",
        of=("servings",),
    ),
    Table(
        "turn_histogram",
        "side STRING, client_id STRING, up_to BIGINT, turns BIGINT",
        f"""
SELECT side, client_id, {power_of_two("passed_over")} AS up_to, count(*) AS turns
FROM servings WHERE served_seq IS NOT NULL GROUP BY 1, 2, 3""",
        "side, client_id, up_to",
        of=("servings",),
    ),
)
