"""Who misbehaves, and what is set too small: rules over a whole run, a sentence each.

Called through `tables`. `conformance` finds single requests that are wrong; a rule here finds what
only many of them show. A rule is a text that returns for each side, run and subject how often it
was seen, a sentence, and the lines that show it first. What a well-behaved client does now and
then is no finding: the least number and rate of each rule stand beside it. docs/diagnosis.md tells
what to do about each, under the rule's name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from mockbroker.pipeline.analyze.facts import LAG_RECORDS, SHORT_WAIT_MS, SMALL_BYTES
from mockbroker.pipeline.analyze.fragments import count_where
from mockbroker.pipeline.analyze.table import Part, Table

if TYPE_CHECKING:
    from collections.abc import Mapping

DOCUMENT: Final = "docs/diagnosis.md"
SHARDS: Final = 8
"""Kafka's FetchSessionCache spreads its slots evenly over so many."""
EVIDENCE_A_RULE: Final = 5

EMPTY_FETCHES, EMPTY_A_SECOND = 50, 20
COMMITS, COMMIT_PAUSE_MS = 20, 200
UNCOMMITTED_MS = 10_000
"""Twice the interval in which clients commit by themselves."""
LAG_SAMPLES = 9
HOT_RECORDS, HOT_BATCHES = 200, 20
FLAPS = 3
SMALL_FETCHES = 20
HELD_MS = 10_000
CHASES = 3
REPLICA_WAITS, REPLICA_WAIT_MS = 10, 50
STOPPED_MS = 30_000


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of finding: what it is called on the page, its text, and what there is none without.

    `needs` are facts with the least number of lines (`table.Part`).
    """

    title: str
    sql: str
    needs: Mapping[str, int]


def _n(expression: str) -> str:
    return f"CAST({expression} AS STRING)"


def _whole(expression: str) -> str:
    return f"CAST(CAST(round({expression}) AS BIGINT) AS STRING)"


def _seconds(expression: str) -> str:
    """Milliseconds as seconds with one digit."""
    return f"CAST(CAST(round(({expression}) / 1e2) / 1e1 AS DECIMAL(18, 1)) AS STRING)"


_NO_LINE: Final = "CAST(NULL AS BIGINT) AS before_seq"
_CONSUMERS: Final = "coalesce(replica_id, -1) < 0"

_BUSY: Final = f"""
SELECT side, run, client_id AS subject, n AS findings,
  'Client ' || client_id || ' polls without waiting: ' || {_n("n")}
    || ' of its fetches came back empty and at once or nearly so, '
    || {_whole("n * 1e3 / CASE WHEN span_ms < 1 THEN 1 ELSE span_ms END")}
    || ' a second, with a max_wait of at most ' || {_n("wait_ms")} || ' ms.' AS detail,
  {_NO_LINE}, seq
FROM (
  SELECT side, run, client_id, count(*) AS n, min(seq) AS seq, max(max_wait_ms) AS wait_ms,
    max(t_ms) - min(t_ms) AS span_ms
  FROM requests
  WHERE is_fetch AND answered AND (NOT parked OR max_wait_ms < {SHORT_WAIT_MS}) AND error = 0
    AND fault IS NULL AND records_bytes = 0 AND {_CONSUMERS}
  GROUP BY side, run, client_id
) AS counted
WHERE n >= {EMPTY_FETCHES} AND n * 1e3 >= {EMPTY_A_SECOND} * span_ms"""

# How many connections wanted a session at a time, by the first and the last fetch that did.
_SESSIONS: Final = f"""
WITH wanted AS (
  SELECT side, run, broker, connection, min(t_ms) AS from_ms, max(t_ms) AS until_ms
  FROM requests WHERE is_fetch AND session_epoch >= 0 AND {_CONSUMERS}
  GROUP BY side, run, broker, connection
), edges AS (
  SELECT side, run, broker, from_ms AS edge_ms, 1 AS step FROM wanted
  UNION ALL SELECT side, run, broker, until_ms, -1 FROM wanted
), crowds AS (
  SELECT side, run, broker, sum(step) OVER (
    PARTITION BY side, run, broker ORDER BY edge_ms, step DESC
    ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS crowd
  FROM edges
), most AS (
  SELECT side, run, broker, CAST(max(crowd) AS BIGINT) AS slots FROM crowds
  GROUP BY side, run, broker
), told AS (
  SELECT side, run, broker, {count_where("event = 'refused'")} AS refused,
    {count_where("event = 'not_found' AND why = 'evicted'")} AS lost,
    {count_where("event = 'evicted' AND rule <> 'fault'")} AS evicted,
    min(CASE WHEN event IN ('refused', 'evicted') THEN seq END) AS seq
  FROM lines WHERE kind = 'session' GROUP BY side, run, broker
)
SELECT told.side, told.run, 'broker ' || {_n("told.broker")} AS subject,
  refused + lost AS findings,
  'The fetch session cache of broker ' || {_n("told.broker")} || ' is too small: '
    || {_n("refused")} || ' sessions were refused, and ' || {_n("lost")}
    || ' fetches came back for one that was evicted; up to ' || {_n("slots")}
    || ' connections wanted one at a time, which '
    || {_n(f"CAST(ceil(slots / {SHARDS}e0) * {SHARDS} AS BIGINT)")}
    || ' slots hold ({SHARDS} shards of '
    || {_n(f"CAST(ceil(slots / {SHARDS}e0) AS BIGINT)")} || ').' AS detail,
  {_NO_LINE}, seq
FROM told JOIN most
  ON told.side = most.side AND told.run = most.run AND told.broker = most.broker
WHERE refused > 0 OR (lost > 0 AND evicted > 0)"""

# Journals of older releases have null for the epoch of a member that leaves.
_LEAVES: Final = (
    "(api = 'LeaveGroup' OR (api = 'ConsumerGroupHeartbeat' AND coalesce(generation, -1) < 0))"
)

_NEVER: Final = f"""
WITH reads AS (
  SELECT side, run, client_id, min(seq) AS seq, min(t_ms) AS from_ms, count(*) AS n
  FROM requests WHERE is_fetch AND records_bytes > 0 GROUP BY side, run, client_id
), members AS (
  SELECT side, run, client_id, group_, min(seq) AS joined_seq,
    max(CASE WHEN {_LEAVES} THEN 1 ELSE 0 END) AS left_it
  FROM requests
  WHERE group_ IS NOT NULL AND api IN ('JoinGroup', 'LeaveGroup', 'ConsumerGroupHeartbeat')
  GROUP BY side, run, client_id, group_
), committed AS (
  SELECT DISTINCT side, run, group_ FROM requests
  WHERE api IN ('OffsetCommit', 'TxnOffsetCommit') AND error = 0
), ends AS (SELECT side, run, max(t_ms) AS end_ms FROM requests GROUP BY side, run)
SELECT reads.side, reads.run, members.group_ AS subject, n AS findings,
  'Group ' || members.group_ || ' never commits: ' || reads.client_id || ' got records in '
    || {_n("n")} || ' answers, and who comes after it reads them all again.' AS detail,
  joined_seq AS before_seq, seq
FROM reads
JOIN members ON reads.side = members.side AND reads.run = members.run
  AND reads.client_id = members.client_id
JOIN ends ON reads.side = ends.side AND reads.run = ends.run
LEFT JOIN committed ON reads.side = committed.side AND reads.run = committed.run
  AND members.group_ = committed.group_
WHERE committed.group_ IS NULL AND (left_it = 1 OR end_ms - from_ms >= {UNCOMMITTED_MS})"""

# From the answer of a fetch to the next one, or to the last heartbeat when there is none; a fetch
# that waits at the broker is one that was sent.
_STOPPED: Final = f"""
WITH fetches AS (
  SELECT side, run, client_id, seq, completed_ms + shift_ms AS done_ms,
    min(arrived_ms + shift_ms) OVER (PARTITION BY side, run, client_id ORDER BY seq
      ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) AS next_ms
  FROM requests WHERE is_fetch AND {_CONSUMERS}
), stops AS (
  SELECT side, run, client_id, max(seq) AS before_seq, done_ms, next_ms
  FROM fetches WHERE next_ms IS NULL OR next_ms - done_ms >= {STOPPED_MS}
  GROUP BY side, run, client_id, done_ms, next_ms
), silences AS (
  SELECT stops.side, stops.run, stops.client_id, before_seq, done_ms, max(group_) AS group_,
    count(*) AS n, max(beats.seq) AS seq, max(t_ms) AS until_ms
  FROM stops JOIN (SELECT side, run, client_id, seq, group_, t_ms FROM requests
    WHERE api IN ('Heartbeat', 'ConsumerGroupHeartbeat') AND answered AND error = 0) AS beats
  ON stops.side = beats.side AND stops.run = beats.run AND stops.client_id = beats.client_id
    AND t_ms > done_ms AND (next_ms IS NULL OR t_ms < next_ms)
  GROUP BY stops.side, stops.run, stops.client_id, before_seq, done_ms
), news AS (
  SELECT known.side, known.run, known.client_id, at_.seq AS moved_seq, at_.t_ms AS moved_ms,
    at_.to_ - at_.from_ AS records
  FROM (SELECT DISTINCT side, run, client_id, topic, partition FROM fetched
    WHERE {_CONSUMERS}) AS known
  JOIN (SELECT side, run, topic, partition, seq, t_ms, from_, to_ FROM lines
    WHERE kind = 'high_watermark' AND to_ > from_) AS at_
  ON known.side = at_.side AND known.run = at_.run AND known.topic = at_.topic
    AND known.partition = at_.partition
)
SELECT side, run, client_id AS subject, n AS findings,
  'Client ' || client_id || ' stopped fetching for ' || {_seconds("until_ms - done_ms")}
    || ' s: it went on sending heartbeats to group ' || group_ || ' (' || {_n("n")} || '), while '
    || {_n("records")} || ' records came.' AS detail, before_seq, seq
FROM (
  SELECT silences.side, silences.run, silences.client_id, max(group_) AS group_, max(n) AS n,
    before_seq, max(silences.seq) AS seq, max(done_ms) AS done_ms, max(until_ms) AS until_ms,
    CAST(sum(records) AS BIGINT) AS records
  FROM silences JOIN news ON silences.side = news.side AND silences.run = news.run
    AND silences.client_id = news.client_id AND moved_seq > before_seq AND moved_ms < until_ms
  WHERE until_ms - done_ms >= {STOPPED_MS}
  GROUP BY silences.side, silences.run, silences.client_id, before_seq
) AS counted"""

_COMMITTED: Final = "(PARTITION BY side, run, group_, topic, partition ORDER BY seq)"
_EACH_RECORD: Final = f"""
SELECT side, run, group_ AS subject, n AS findings,
  'Group ' || group_ || ' commits at each record: ' || {_n("n")} || ' commits of ' || client_id
    || ' for ' || {_n("moved")} || ' records, one every ' || {_whole("pause_ms")} || ' ms.'
    AS detail,
  before_seq, seq
FROM (
  SELECT side, run, group_, client_id, count(*) AS n, CAST(sum(step) AS BIGINT) AS moved,
    avg(pause_ms) AS pause_ms, min(before_seq) AS before_seq, min(seq) AS seq
  FROM (
    SELECT side, run, group_, client_id, seq,
      log_offset - lag(log_offset) OVER {_COMMITTED} AS step,
      t_ms - lag(t_ms) OVER {_COMMITTED} AS pause_ms, lag(seq) OVER {_COMMITTED} AS before_seq
    FROM commits WHERE error = 0 AND NOT of_ranges
  ) AS steps
  WHERE step > 0 GROUP BY side, run, group_, client_id
) AS counted
WHERE n >= {COMMITS} AND moved * 5 <= n * 6 AND pause_ms < {COMMIT_PAUSE_MS}"""

_READER: Final = "side, run, client_id, topic, partition"
# The mean lag of the first, the middle and the last third of a reader's fetches of a partition.
_LAG: Final = f"""
WITH seen AS (
  SELECT {_READER}, seq, t_ms, bytes, fetch_max_bytes, part_max_bytes,
    high_watermark - fetch_offset AS behind,
    row_number() OVER (PARTITION BY {_READER} ORDER BY seq) AS i,
    count(*) OVER (PARTITION BY {_READER}) AS n
  FROM fetched
  WHERE answered AND error = 0 AND fetch_offset >= 0 AND high_watermark >= 0 AND {_CONSUMERS}
), thirds AS (
  SELECT {_READER}, n, min(seq) AS before_seq, max(seq) AS seq,
    avg(CASE WHEN i * 3 <= n THEN behind END) AS first_,
    avg(CASE WHEN i * 3 > n AND i * 3 <= 2 * n THEN behind END) AS middle_,
    avg(CASE WHEN i * 3 > 2 * n THEN behind END) AS last_,
    avg(CASE WHEN bytes * 2 >= least(fetch_max_bytes, part_max_bytes) THEN 1e0 ELSE 0e0 END)
      AS full_, max(t_ms) - min(t_ms) AS span_ms
  FROM seen GROUP BY {_READER}, n
), pauses AS (
  SELECT side, run, client_id, sum(CASE WHEN pause_ms > 0 THEN pause_ms ELSE 0 END) AS away_ms,
    avg(pause_ms) AS pause_ms
  FROM (SELECT side, run, client_id, arrived_ms - lag(completed_ms) OVER
      (PARTITION BY side, run, broker, connection ORDER BY seq) AS pause_ms
    FROM requests WHERE is_fetch) AS asked
  GROUP BY side, run, client_id
)
SELECT thirds.side, thirds.run, thirds.client_id AS subject, n AS findings,
  'Client ' || thirds.client_id || ' falls behind in ' || topic || '-' || {_n("partition")}
    || ': from ' || {_whole("first_")} || ' to ' || {_whole("last_")} || ' records in '
    || {_seconds("span_ms")} || ' s; '
    || CASE WHEN full_ >= 5e-1 THEN 'its fetches are full, so its limit of bytes holds it up.'
      WHEN away_ms * 2 >= span_ms THEN 'it is busy with records, and asks for more only every '
        || {_whole("pauses.pause_ms")} || ' ms.'
      ELSE 'records come faster than its fetches.' END AS detail,
  before_seq, seq
FROM thirds JOIN pauses ON thirds.side = pauses.side AND thirds.run = pauses.run
  AND thirds.client_id = pauses.client_id
WHERE n >= {LAG_SAMPLES} AND last_ >= {LAG_RECORDS}
  AND middle_ * 5 > first_ * 6 AND last_ * 5 > middle_ * 6"""

_TOPIC: Final = "side, run, topic"
_HOT_PARTITION: Final = f"""
WITH known AS (
  SELECT {_TOPIC}, count(DISTINCT partition) AS parts
  FROM (SELECT {_TOPIC}, partition FROM produced UNION ALL SELECT {_TOPIC}, partition FROM fetched)
    AS named
  GROUP BY {_TOPIC}
), cells AS (
  SELECT {_TOPIC}, partition, sum(records) AS records, count(*) AS batches, min(seq) AS seq
  FROM produced WHERE error = 0 GROUP BY {_TOPIC}, partition
), whole AS (
  SELECT *, sum(records) OVER (PARTITION BY {_TOPIC}) AS total,
    sum(batches) OVER (PARTITION BY {_TOPIC}) AS all_batches
  FROM cells
)
SELECT whole.side, whole.run, whole.topic || '-' || {_n("partition")} AS subject,
  CAST(records AS BIGINT) AS findings,
  'Partition ' || {_n("partition")} || ' of ' || whole.topic || ' is hot: '
    || {_whole("1e2 * records / total")} || ' % of ' || {_n("total")} || ' records went there, of '
    || {_n("parts")} || ' partitions.' AS detail, {_NO_LINE}, seq
FROM whole JOIN known ON whole.side = known.side AND whole.run = known.run
  AND whole.topic = known.topic
WHERE total >= {HOT_RECORDS} AND all_batches >= {HOT_BATCHES} AND parts >= 3
  AND records * 2 >= total AND records * parts * 2 >= total * 5"""

_HOT_KEY: Final = f"""
WITH whole AS (
  SELECT {_TOPIC}, sum(records) AS total, max(keys) AS most_keys,
    count(DISTINCT top_key) AS tops
  FROM produced WHERE error = 0 AND keys > 0 GROUP BY {_TOPIC}
), cells AS (
  SELECT {_TOPIC}, top_key, sum(top_key_records) AS records, min(seq) AS seq
  FROM produced WHERE error = 0 AND keys > 0 GROUP BY {_TOPIC}, top_key
)
SELECT cells.side, cells.run, cells.topic AS subject, CAST(records AS BIGINT) AS findings,
  'Key ' || top_key || ' of ' || cells.topic || ' is hot: at least '
    || {_whole("1e2 * records / total")} || ' % of ' || {_n("total")}
    || ' records have it, and one partition takes them all.' AS detail, {_NO_LINE}, seq
FROM cells JOIN whole ON cells.side = whole.side AND cells.run = whole.run
  AND cells.topic = whole.topic
WHERE total >= {HOT_RECORDS} AND (tops >= 5 OR most_keys >= 5) AND records * 10 >= total * 3"""

_MEMBER: Final = "(PARTITION BY side, run, broker, connection, client_id, group_ ORDER BY seq)"
# A join right behind the member's own leaving (its client polled too late), or behind an answer
# that the coordinator knows it no longer (its session was over).
_FLAPS: Final = f"""
SELECT side, run, client_id AS subject, n AS findings,
  'Client ' || client_id || ' flaps in group ' || group_ || ': it joined anew ' || {_n("n")}
    || ' times, '
    || CASE WHEN left_ * 2 >= n
      THEN 'each time after leaving by itself, as clients do whose application polls more seldom'
        || ' than max.poll.interval.ms.'
      ELSE 'each time because its session was over: up to ' || {_whole("silent_ms")}
        || ' ms passed without a heartbeat.' END AS detail,
  before_seq, seq
FROM (
  SELECT side, run, client_id, group_, count(*) AS n, min(before_seq) AS before_seq,
    min(seq) AS seq, {count_where("left_before")} AS left_, max(silent_ms) AS silent_ms
  FROM (
    SELECT side, run, client_id, group_, seq, joins, lag(seq) OVER {_MEMBER} AS before_seq,
      lag(leaves) OVER {_MEMBER} AS left_before, lag(unknown) OVER {_MEMBER} AS unknown_before,
      lag(pause_ms) OVER {_MEMBER} AS silent_ms
    FROM (
      SELECT side, run, broker, connection, client_id, group_, seq,
        error = 0 AND (api = 'JoinGroup'
          OR (api = 'ConsumerGroupHeartbeat' AND generation = 0)) AS joins,
        {_LEAVES} AS leaves,
        error IN (25, 110) AS unknown, arrived_ms - lag(completed_ms) OVER {_MEMBER} AS pause_ms
      FROM requests
      WHERE of_group AND fault IS NULL AND group_ IS NOT NULL AND error NOT IN (14, 15, 16, 79)
        AND api IN ('JoinGroup', 'LeaveGroup', 'Heartbeat', 'OffsetCommit',
          'ConsumerGroupHeartbeat')
    ) AS asked
  ) AS steps
  WHERE joins AND (left_before OR unknown_before)
  GROUP BY side, run, client_id, group_
) AS counted
WHERE n >= {FLAPS}"""

_LIMITED: Final = """
  SELECT side, run, client_id, topic, partition, seq, bytes, records_bytes, part_max_bytes,
    fetch_max_bytes, high_watermark, lead(fetch_offset) OVER
      (PARTITION BY side, run, broker, connection, topic, partition ORDER BY seq) AS next_offset
  FROM fetched
  WHERE answered AND error = 0 AND fetch_offset >= 0 AND coalesce(replica_id, -1) < 0"""
_SMALL: Final = f"""
SELECT side, run, client_id AS subject, n AS findings,
  'Client ' || client_id || ' fetches far too little: ' || {_n("n")}
    || ' answers were full at ' || {_n("limit_bytes")}
    || ' bytes while there was more to read.' AS detail, {_NO_LINE}, seq
FROM (
  SELECT side, run, client_id, count(*) AS n, min(seq) AS seq,
    max(least(fetch_max_bytes, part_max_bytes)) AS limit_bytes
  FROM ({_LIMITED}) AS asked
  WHERE bytes > 0 AND next_offset < high_watermark
    AND least(fetch_max_bytes, part_max_bytes) <= {SMALL_BYTES}
    AND records_bytes * 2 >= least(fetch_max_bytes, part_max_bytes)
  GROUP BY side, run, client_id
) AS counted
WHERE n >= {SMALL_FETCHES}"""
_ONE_PARTITION: Final = f"""
SELECT side, run, client_id AS subject, n AS findings,
  'Fetches of ' || client_id || ' are limited by one partition: ' || {_n("n")}
    || ' brought no more than the ' || {_n("part_max_bytes")} || ' bytes of '
    || topic || '-' || {_n("partition")} || ', of ' || {_n("fetch_max_bytes")}
    || ' that a fetch may bring.' AS detail, {_NO_LINE}, seq
FROM (
  SELECT asked.side, asked.run, asked.client_id, topic, partition, count(*) AS n,
    min(seq) AS seq, max(part_max_bytes) AS part_max_bytes, max(fetch_max_bytes) AS fetch_max_bytes
  FROM ({_LIMITED}) AS asked
  JOIN (SELECT side, run, client_id, count(DISTINCT topic || '-' || {_n("partition")}) AS parts
    FROM fetched GROUP BY side, run, client_id) AS read
  ON asked.side = read.side AND asked.run = read.run AND asked.client_id = read.client_id
  WHERE parts >= 2 AND next_offset < high_watermark AND bytes = records_bytes
    AND bytes * 2 >= part_max_bytes AND part_max_bytes * 4 <= fetch_max_bytes
    AND part_max_bytes > {SMALL_BYTES}
  GROUP BY asked.side, asked.run, asked.client_id, topic, partition
) AS counted
WHERE n >= {SMALL_FETCHES}"""

_BATCH: Final = "side, run, client_id, topic, partition, crc, records, bytes"
# The same batch twice, the first one without an answer that says it was appended, though it was.
_DOUBLES: Final = f"""
WITH batches AS (
  SELECT {_BATCH}, broker, seq, arrived_ms, error, log_offset, answered,
    lag(seq) OVER (PARTITION BY {_BATCH} ORDER BY seq) AS before_seq,
    lag(arrived_ms) OVER (PARTITION BY {_BATCH} ORDER BY seq) AS before_ms,
    lag(NOT answered OR error IN (7, 20)) OVER (PARTITION BY {_BATCH} ORDER BY seq) AS unsure
  FROM produced WHERE producer_id < 0 AND acks <> 0 AND crc IS NOT NULL
), moves AS (
  SELECT side, run, broker, topic, partition, at_ms FROM lines WHERE kind = 'high_watermark'
)
SELECT side, run, client_id AS subject, count(*) AS findings,
  'Producer ' || client_id || ' doubles records: it is not idempotent, and sent '
    || {_n("count(*)")} || ' batches (' || {_n("CAST(sum(records) AS BIGINT)")}
    || ' records) again that were in the log already.' AS detail,
  min(before_seq) AS before_seq, min(seq) AS seq
FROM (
  SELECT batches.side, batches.run, client_id, batches.records, before_seq, seq
  FROM batches JOIN moves
  ON batches.side = moves.side AND batches.run = moves.run AND batches.topic = moves.topic
    AND batches.partition = moves.partition
  WHERE unsure AND error = 0 AND at_ms >= before_ms AND at_ms < arrived_ms
  GROUP BY batches.side, batches.run, client_id, batches.records, before_seq, seq
) AS found
GROUP BY side, run, client_id"""

# The last stable offset is the first one of the oldest open transaction: its batch names it.
_HELD: Final = f"""
WITH stuck AS (
  SELECT side, run, topic, partition, last_stable_offset AS stable, max(high_watermark) AS upto,
    count(*) AS n, min(seq) AS seq, min(client_id) AS reader
  FROM fetched
  WHERE isolation_level = 1 AND error = 0 AND last_stable_offset >= 0
    AND last_stable_offset < high_watermark AND {_CONSUMERS}
  GROUP BY side, run, topic, partition, last_stable_offset
), openings AS (
  SELECT side, run, topic, partition, log_offset, transactional_id, seq, t_ms FROM produced
  WHERE transactional AND error = 0 AND log_offset >= 0 AND transactional_id IS NOT NULL
), ends AS (
  SELECT side, run, transactional_id, seq, t_ms FROM requests
  WHERE api = 'EndTxn' AND error = 0
), finals AS (SELECT side, run, max(t_ms) AS end_ms FROM requests GROUP BY side, run
), held AS (
  SELECT openings.side, openings.run, openings.topic, openings.partition, stable, upto, n,
    stuck.seq, reader, openings.transactional_id AS id, openings.seq AS before_seq,
    coalesce(min(ends.t_ms), max(end_ms)) - max(openings.t_ms) AS held_ms
  FROM openings
  JOIN stuck ON openings.side = stuck.side AND openings.run = stuck.run
    AND openings.topic = stuck.topic AND openings.partition = stuck.partition
    AND log_offset = stable
  JOIN finals ON openings.side = finals.side AND openings.run = finals.run
  LEFT JOIN ends ON openings.side = ends.side AND openings.run = ends.run
    AND openings.transactional_id = ends.transactional_id AND ends.seq > openings.seq
  GROUP BY openings.side, openings.run, openings.topic, openings.partition, stable, upto, n,
    stuck.seq, reader, openings.transactional_id, openings.seq
)
SELECT side, run, id AS subject, n AS findings,
  'Transaction ' || id || ' held the last stable offset of ' || topic || '-' || {_n("partition")}
    || ' for ' || {_seconds("held_ms")} || ' s: ' || reader || ' could not read the '
    || {_n("upto - stable")} || ' records from offset ' || {_n("stable")} || ' on.' AS detail,
  before_seq, seq
FROM held WHERE held_ms >= {HELD_MS}"""

_CHASED: Final = "(PARTITION BY side, run, client_id ORDER BY seq)"
# Errors of a moved leader at one place, between two looks at the metadata.
_STALE: Final = f"""
WITH asked AS (
  SELECT side, run, client_id, seq, CAST(NULL AS INT) AS broker, CAST(NULL AS STRING) AS topic,
    CAST(NULL AS INT) AS partition, 1 AS looks
  FROM requests WHERE api = 'Metadata'
  UNION ALL
  SELECT side, run, client_id, seq, broker, topic, partition, 0 FROM fetched
  WHERE error IN (6, 74, 76) AND fault IS NULL AND {_CONSUMERS}
  UNION ALL
  SELECT side, run, client_id, seq, broker, topic, partition, 0 FROM produced
  WHERE error IN (6, 74, 76) AND fault IS NULL
), chases AS (
  SELECT side, run, client_id, broker, topic, partition, look, count(*) AS n,
    min(seq) AS before_seq, max(seq) AS seq
  FROM (SELECT *, sum(looks) OVER {_CHASED} AS look FROM asked) AS numbered
  WHERE looks = 0
  GROUP BY side, run, client_id, broker, topic, partition, look
)
SELECT side, run, client_id AS subject, CAST(sum(n) AS BIGINT) AS findings,
  'Client ' || client_id || ' chases leaders with stale metadata: '
    || {_n("CAST(sum(n) AS BIGINT)")} || ' requests went to a broker that had said'
    || ' before that it does not lead, as of '
    || min(topic || '-' || {_n("partition")}) || '; it did not ask for metadata between them.'
    AS detail,
  min(before_seq) AS before_seq, min(seq) AS seq
FROM chases WHERE n >= {CHASES}
GROUP BY side, run, client_id"""

_SLOW_REPLICA: Final = f"""
WITH moves AS (
  SELECT side, run, broker, topic, partition, follower, count(*) AS n
  FROM lines WHERE kind = 'high_watermark' AND follower IS NOT NULL
  GROUP BY side, run, broker, topic, partition, follower
), last_ones AS (
  SELECT side, run, topic, partition, follower, n,
    sum(n) OVER (PARTITION BY side, run, topic, partition) AS total
  FROM moves
), waits AS (
  SELECT side, run, topic, partition, count(*) AS n, avg(completed_ms - arrived_ms) AS wait_ms,
    min(seq) AS seq
  FROM produced WHERE acks = -1 AND error = 0 AND answered AND fault IS NULL
  GROUP BY side, run, topic, partition
)
SELECT waits.side, waits.run, waits.topic || '-' || {_n("waits.partition")} AS subject,
  waits.n AS findings,
  'Broker ' || {_n("follower")} || ' holds up acks=all of ' || waits.topic || '-'
    || {_n("waits.partition")} || ': ' || {_n("waits.n")} || ' requests waited '
    || {_whole("wait_ms")} || ' ms on average, and it was the last to have the records in '
    || {_whole("1e2 * last_ones.n / total")} || ' % of the cases.' AS detail, {_NO_LINE}, seq
FROM waits JOIN last_ones
ON waits.side = last_ones.side AND waits.run = last_ones.run AND waits.topic = last_ones.topic
  AND waits.partition = last_ones.partition
WHERE waits.n >= {REPLICA_WAITS} AND wait_ms >= {REPLICA_WAIT_MS}
  AND last_ones.n * 5 >= total * 4"""

RULES: Final = {
    "busy-polling": Rule("Polls without waiting", _BUSY, {"empty_answers": EMPTY_FETCHES}),
    "session-cache": Rule("Fetch sessions refused or thrashing", _SESSIONS, {"sessions_lost": 1}),
    "commits-never": Rule("A group that never commits", _NEVER, {"joins": 1, "fetches": 1}),
    "commits-each-record": Rule("A commit at each record", _EACH_RECORD, {"offsets": 2}),
    "lag-grows": Rule("A reader that falls behind", _LAG, {"lags": 1}),
    "stops-fetching": Rule(
        "A member that no longer fetches",
        _STOPPED,
        {"heartbeats": 1, "fetches": 1, "watermarks": 1},
    ),
    "hot-partition": Rule("A hot partition", _HOT_PARTITION, {"produces": 1}),
    "hot-key": Rule("A hot key", _HOT_KEY, {"hot_keys": 1}),
    "member-flaps": Rule(
        "A member that leaves and joins again and again",
        _FLAPS,
        {"joins": FLAPS, "departures": FLAPS},
    ),
    "small-fetches": Rule("Fetches far too small", _SMALL, {"sips": 1}),
    "one-partition-limits": Rule(
        "Fetches limited by one partition", _ONE_PARTITION, {"narrow_answers": SMALL_FETCHES}
    ),
    "producer-doubles": Rule(
        "Retries that double records", _DOUBLES, {"unsure_batches": 1, "watermarks": 1}
    ),
    "held-stable-offset": Rule(
        "A transaction that holds the last stable offset",
        _HELD,
        {"stable_behind": 1, "produces": 1},
    ),
    "stale-metadata": Rule("Leaders chased with stale metadata", _STALE, {"moved_leaders": CHASES}),
    "slow-replica": Rule(
        "Acks that wait for one slow replica", _SLOW_REPLICA, {"acks_all": 1, "last_followers": 1}
    ),
}
_PARTS: Final = tuple(
    Part(
        f"SELECT side, '{name}' AS rule, subject, findings, detail, '{DOCUMENT}#{name}' AS more,"
        f" run, before_seq, seq FROM ({rule.sql}) AS of_rule",
        rule.needs,
    )
    for name, rule in RULES.items()
)

TABLES: Final = (
    Table(
        "diagnosis",
        "side STRING, rule STRING, subject STRING, findings BIGINT, detail STRING, more STRING,"
        " run STRING, before_seq BIGINT, seq BIGINT",
        "",
        "side, rule, findings DESC, subject, run",
        parts=_PARTS,
    ),
    Table(
        "wanted_evidence",
        "side STRING, rule STRING, finding INT, run STRING, before_seq BIGINT, seq BIGINT",
        f"""
SELECT side, rule, finding, run, before_seq, seq
FROM (SELECT *, row_number() OVER (PARTITION BY side, rule ORDER BY run, seq, detail) AS finding
  FROM (
    SELECT side, rule, run, before_seq, seq, detail FROM conformance
    UNION ALL SELECT side, rule, run, before_seq, seq, detail FROM diagnosis
  ) AS found
) AS numbered
WHERE finding <= {EVIDENCE_A_RULE}""",
        "side, rule, finding",
        of=("conformance", "diagnosis"),
        kept=False,
    ),
)
