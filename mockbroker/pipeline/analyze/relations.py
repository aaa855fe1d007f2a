"""The lines as flat relations: the one place where arrays and structures are taken apart.

Defined by `job` on the engine, read by the tables' texts. Each is a view of the parsed lines
(`every`, with those that could not be read); an engine reads the columns that a text asks for.

| relation | a row is |
|---|---|
| `lines` | a line that is no request: `kind`, and the fields of its kind |
| `requests` | a request, with its fetch's and group's fields; a client without an id is `(none)` |
| `fetched` | a partition that a fetch lists; `limited`: its answer starved some partition |
| `produced` | a batch of a produce request, by partition |
| `failures` | an error of an answer, each once |
| `commits` | a partition of an offset commit |
| `readers` | an answered fetch of a session, or a connection without one: `n`th of `reader` |
| `reader_parts` | a partition that such a fetch lists |
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.pipeline.analyze.facts import (
    FACTS,
    OF_FETCHED,
    OF_PRODUCED,
    OUTSIDE_GENERATION,
    RETRIABLE,
    WITHOUT_PARTITIONS,
    counts,
    of_lines,
)

if TYPE_CHECKING:
    from mockbroker.pipeline.analyze.dialect import Dialect

_FETCH: Final = (
    "session_id", "session_epoch", "answered_session_id", "max_wait_ms", "min_bytes", "max_bytes",
    "isolation_level", "replica_id", "partitions_requested", "partitions_answered",
    "records_bytes", "request_bytes_saved", "response_bytes_saved", "first_batch_overrun_bytes",
    "high_watermarks_known", "high_watermarks_told",
)  # fmt: skip
_PART: Final = (
    "partition", "position", "fetch_offset", "error", "high_watermark", "last_stable_offset",
    "scanned_bytes", "scanned_records", "matched_records", "cache_hits", "next_offset",
)  # fmt: skip
_LINE: Final = (
    "event", "rule", "why", "session_id", "expected_epoch", "epoch", "age_ms",
    "idle_ms", "topic", "partition", "follower", "log_end_offset",
)  # fmt: skip
_PLACE: Final = "side, run, seq, broker, connection, at_ms, t_ms"
_CLIENT: Final = (
    "CASE WHEN coalesce(client_id, '') = '' THEN '(none)' ELSE client_id END AS client_id"
)
_REQUEST: Final = "kind = 'request'"


def starved(part: str, fetch: str = "") -> str:
    """A partition had some to give, and the answer has records of others and none of it.

    `fetch` is how the fetch's own columns are reached, with its dot.
    """
    return (
        f"({part}.position IS NOT NULL AND {part}.error = 0 AND {part}.bytes = 0"
        f" AND {fetch}records_bytes > 0 AND {part}.fetch_offset <"
        f" CASE WHEN {fetch}isolation_level = 1 AND {part}.last_stable_offset >= 0"
        f" THEN {part}.last_stable_offset ELSE {part}.high_watermark END)"
    )


def placed(d: Dialect, moved: bool) -> str:
    """Lines that could be read, with `t_ms`: ms since their side's first run began.

    `run_starts` places the runs of a side by wall time. Within a run only its clock counts, so a
    wall clock that jumps moves nothing.
    """
    if not moved:
        return "SELECT *, at_ms AS t_ms FROM every WHERE raw IS NULL"
    hint = "/*+ BROADCAST(s) */" if d.name == "spark" else ""
    return (
        f"SELECT {hint} l.*, l.at_ms + s.starts_s * 1e3 AS t_ms"
        " FROM every AS l JOIN run_starts AS s"
        " ON l.side = s.side AND l.run = s.run WHERE l.raw IS NULL"
    )


def relations(d: Dialect) -> dict[str, str]:
    """Name to text, each after those that it reads."""
    return {
        "lines": _lines(d),
        "requests": _requests(d),
        "fetched": _fetched(d),
        **_readers(d),
        **_listed(d),
    }


def _lines(d: Dialect) -> str:
    return f"""
SELECT {_PLACE}, kind, wall_ms, client_id, {", ".join(_LINE)}, {d.q("from")} AS from_,
  CASE WHEN kind = 'session' THEN CAST(partitions AS BIGINT) END AS partitions,
  {d.q("to")} AS to_ FROM placed WHERE kind <> 'request'"""


def _requests(d: Dialect) -> str:
    fetch, group = d.q("fetch"), d.q("group")
    of_fetch = ", ".join(f"{fetch}.{name} AS {name}" for name in _FETCH)
    return f"""
SELECT {_PLACE}, {_CLIENT}, api, version, cause, answered, parked, fault, error, request_bytes,
  response_bytes, arrived_ms, completed_ms, waited_ms, service_ms, throttle_ms,
  t_ms - at_ms AS shift_ms,
  coalesce(api = 'Fetch' AND {fetch} IS NOT NULL, false) AS is_fetch, {fetch}.class AS class,
  {of_fetch},
  {d.has_any("errors", RETRIABLE)} AS retriable,
  {d.has_any("errors", OUTSIDE_GENERATION)} AS outside_generation,
  {d.has_any("errors", (70,))} AS session_not_found,
  {d.has_any("errors", (71,))} AS wrong_epoch,
  {d.has_any("errors", WITHOUT_PARTITIONS)} AS without_partitions,
  CASE WHEN {d.size}(topics) > 0 THEN {d.element("topics", 0)} END AS topic,
  {d.join("topics")} AS topics, {d.join(d.three("topics"))} AS first_topics,
  {group} IS NOT NULL AS of_group, {group}.{group} AS group_, {group}.member AS member,
  {group}.generation AS generation, {group}.answered_generation AS answered_generation,
  {group}.leader AS leader, {group}.protocol AS protocol, {group}.error AS group_error,
  txn.transactional_id AS transactional_id, txn.outcome AS outcome
FROM placed WHERE {_REQUEST}"""


def _fetched(d: Dialect) -> str:
    fetch, group = d.q("fetch"), d.q("group")
    part = ", ".join(f"part.{name} AS {name}" for name in _PART)
    return f"""
SELECT {_PLACE}, client_id, answered, fault, completed_ms, class, session_id,
  answered_session_id, isolation_level, replica_id, records_bytes, without_partitions,
  fetch_group AS group_, fetch_member AS member, fetch_generation AS generation, limited,
  part.topic AS named_topic, coalesce(part.topic, part.topic_id) AS topic, {part},
  part.bytes AS bytes, part.max_bytes AS part_max_bytes, fetch_max_bytes,
  {starved("part")} AS starved, part.slots AS slots,
  part.slots IS NOT NULL AS has_slots
FROM (
  SELECT {_PLACE}, {_CLIENT}, answered, fault, completed_ms, {fetch}.class AS class,
    {fetch}.session_id AS session_id, {fetch}.answered_session_id AS answered_session_id,
    {fetch}.isolation_level AS isolation_level, {fetch}.replica_id AS replica_id,
    {fetch}.records_bytes AS records_bytes, {fetch}.max_bytes AS fetch_max_bytes,
    {fetch}.{group} AS fetch_group,
    {fetch}.member AS fetch_member, {fetch}.generation AS fetch_generation,
    {d.has_any("errors", WITHOUT_PARTITIONS)} AS without_partitions,
    coalesce({d.any_of(f"{fetch}.partitions", "p", starved("p", f"{fetch}."))}, false) AS limited,
    {d.explode}({fetch}.partitions) AS part
  FROM placed WHERE {_REQUEST} AND api = 'Fetch' AND {fetch} IS NOT NULL
) AS listed"""


_SESSION: Final = (
    "CASE WHEN {0}.class = 'INCREMENTAL' THEN coalesce({0}.session_id, 0)"
    " WHEN {0}.class = 'FULL' THEN coalesce({0}.answered_session_id, 0) ELSE 0 END"
)


_READER: Final = "reader, session, connection, broker, run, side"


def _readers(d: Dialect) -> dict[str, str]:
    """Answered fetches by reader, numbered before they are taken apart: one exchange on Spark.

    The number of its first fetch, `reader`, is its alone in a run: who sorts compares that first.
    """
    fetch = d.q("fetch")
    asked = f"""
SELECT side, run, broker, session, CASE WHEN session = 0 THEN connection ELSE 0 END AS connection,
  client_id, seq, t_ms, listed
FROM (SELECT {_PLACE}, {_CLIENT}, {_SESSION.format(fetch)} AS session,
    {fetch}.partitions AS listed
  FROM placed WHERE {_REQUEST} AND api = 'Fetch' AND {fetch} IS NOT NULL AND answered
    AND {fetch}.isolation_level = 0 AND NOT {d.has_any("errors", WITHOUT_PARTITIONS)}) AS answers"""
    return {
        "readers": f"""
SELECT *, row_number() OVER w AS n, min(seq) OVER w AS reader FROM ({asked}) AS asked
WINDOW w AS (PARTITION BY session, connection, broker, run, side ORDER BY seq
  ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)""",
        "reader_parts": f"""
SELECT {_READER}, seq, t_ms, n, coalesce(part.topic, part.topic_id) AS topic,
  part.partition AS partition, part.fetch_offset AS named, coalesce(part.bytes, 0) > 0 AS served,
  part.high_watermark AS told
FROM (SELECT {_READER}, seq, t_ms, n, {d.explode}(listed) AS part FROM readers) AS parts
WHERE coalesce(part.error, 0) = 0""",
    }


def _listed(d: Dialect) -> dict[str, str]:
    """What requests of other APIs list, and the slots that a fetch reads."""
    group = d.q("group")
    return {
        "produced": f"""
SELECT {_PLACE}, {_CLIENT}, arrived_ms, completed_ms, fault, api, answered, acks,
  transactional_id, part.transactional AS transactional,
  coalesce(part.topic, part.topic_id) AS topic, part.partition AS partition,
  part.producer_id AS producer_id, part.producer_epoch AS producer_epoch,
  part.base_sequence AS base_sequence, part.records AS records, part.bytes AS bytes,
  part.offset AS log_offset, part.crc AS crc, part.keys AS keys, part.top_key AS top_key,
  part.top_key_records AS top_key_records,
  part.error AS error
FROM (SELECT {_PLACE}, client_id, arrived_ms, completed_ms, fault, api, answered,
  produce.acks AS acks, produce.transactional_id AS transactional_id,
  {d.explode}(produce.partitions) AS part FROM placed WHERE {_REQUEST} AND api = 'Produce')
  AS listed""",
        "failures": f"""
SELECT {_PLACE}, {_CLIENT}, api, fault, error
FROM (SELECT {_PLACE}, client_id, api, fault, {d.explode}(errors) AS error
  FROM placed WHERE {_REQUEST}) AS listed""",
        "commits": f"""
SELECT {_PLACE}, {_CLIENT}, group_, part.topic AS topic, part.partition AS partition,
  part.offset AS log_offset, part.error AS error, part.ranges IS NOT NULL AS of_ranges,
  CASE WHEN part.ranges IS NULL THEN 0 ELSE {d.size}(part.ranges) END AS ranges,
  part.stable AS stable, part.held AS held
FROM (SELECT {_PLACE}, client_id, {group}.{group} AS group_,
  {d.explode}({group}.offsets) AS part FROM placed WHERE {_REQUEST}) AS listed""",
        "read_slots": f"""
SELECT side, run, group_, topic, partition, generation, member,
  {d.element("slot", 0)} AS lo, {d.element("slot", 1)} AS hi
FROM (SELECT side, run, group_, named_topic AS topic, partition, generation, member,
  {d.explode}(slots) AS slot FROM fetched
  WHERE slots IS NOT NULL AND next_offset IS NOT NULL AND error = 0 AND member IS NOT NULL
    AND generation >= 0) AS listed""",
    }


def line_cells(d: Dialect) -> str:
    """Lines by run, kind and event of sessions, made before all else; no run: the corrupt.

    What brokers say of themselves, and the facts of partitions, stand in rows of their own, without
    lines: Spark sorts all lines where the most of a text is asked for, and takes longer to look
    into arrays than to take them apart.
    """
    fetch = d.q("fetch")
    counted = f"""
SELECT side, run, kind, of_event AS event, count(*) AS lines_, {_SPAN}, {_NO_BROKER},
  coalesce(sum(CASE WHEN kind = 'dropped' THEN {d.q("lines")} END), 0) AS dropped,
  count(raw) AS corrupt, min({d.q("schema")}) AS lowest,
  max({d.q("schema")}) AS highest, {counts(of_lines(d))}
FROM (SELECT *, CASE WHEN kind = 'session' THEN event END AS of_event FROM every) AS whole
GROUP BY side, run, kind, of_event"""
    brokers = f"""
SELECT side, run, kind, {_NO_LINES}, {_SPAN}, max(mockbroker) AS mockbroker,
  max(cluster_id) AS cluster_id, max({d.size}(nodes)) AS nodes, max(seed) AS seed,
  {_NOT_COUNTED}, {counts({})}
FROM every WHERE kind = 'run' GROUP BY side, run, kind"""
    fetched = f"""
SELECT {_SEEN}, {fetch}.max_bytes AS max_bytes, {fetch}.records_bytes AS records_bytes,
  {fetch}.isolation_level AS isolation_level, {d.explode}({fetch}.partitions) AS p
FROM every WHERE {_REQUEST} AND api = 'Fetch'"""
    produced = f"""
SELECT {_SEEN}, answered, {d.explode}(produce.partitions) AS p
FROM every WHERE {_REQUEST} AND api = 'Produce'"""
    parts = [
        f"""
SELECT side, run, kind, {_NO_LINES}, {_SPAN}, {_NO_BROKER}, {_NOT_COUNTED}, {counts(facts)}
FROM ({listed}) AS listed GROUP BY side, run, kind"""
        for listed, facts in ((fetched, OF_FETCHED), (produced, OF_PRODUCED))
    ]
    return "\nUNION ALL".join((counted, brokers, *parts))


_SEEN: Final = "side, run, kind, seq, at_ms, wall_ms"
_SPAN: Final = (
    "min(seq) AS first_seq, max(seq) AS last_seq, max(at_ms) AS last_ms,"
    " min_by(wall_ms - at_ms, seq) AS began_ms"
)
_NO_BROKER: Final = (
    "CAST(NULL AS STRING) AS mockbroker, CAST(NULL AS STRING) AS cluster_id,"
    " CAST(NULL AS INT) AS nodes, CAST(NULL AS STRING) AS seed"
)
_NO_LINES: Final = "CAST(NULL AS STRING) AS event, CAST(0 AS BIGINT) AS lines_"
_NOT_COUNTED: Final = (
    "CAST(0 AS BIGINT) AS dropped, CAST(0 AS BIGINT) AS corrupt, CAST(NULL AS INT) AS lowest,"
    " CAST(NULL AS INT) AS highest"
)


LINE_CELLS_DDL: Final = (
    "side STRING, run STRING, kind STRING, event STRING, lines_ BIGINT, first_seq BIGINT,"
    " last_seq BIGINT, last_ms DOUBLE, began_ms DOUBLE, mockbroker STRING, cluster_id STRING,"
    " nodes INT, seed STRING, dropped BIGINT, corrupt BIGINT, lowest INT,"
    " highest INT, " + ", ".join(f"has_{name} BIGINT" for name in FACTS)
)
