"""The fields of a journal's lines as a schema: docs/journal.md, schema 1, and no guess.

Read by the engines. A field that is not listed is ignored, as the journal's document asks.
"""

from __future__ import annotations

import re
from typing import Final

JOURNAL_SCHEMA: Final = 1
"""The version of the journal's schema that is understood."""

_EVERY_LINE: Final = """
schema INT, kind STRING, run STRING, seq BIGINT, at_ms DOUBLE, wall_ms BIGINT,
broker INT, connection BIGINT, listener STRING, peer STRING, peer_port INT, client_id STRING,
reason STRING"""

_RUN: Final = """
mockbroker STRING, cluster_id STRING, nodes ARRAY<INT>, seed STRING, started_wall_ms BIGINT,
file INT, settings MAP<STRING, STRING>"""

_REQUEST: Final = """
api STRING, api_key INT, version INT, correlation_id INT, principal STRING,
request_bytes BIGINT, response_bytes BIGINT, arrived_ms DOUBLE, parked_ms DOUBLE,
completed_ms DOUBLE, waited_ms DOUBLE, service_ms DOUBLE, parked BOOLEAN, cause STRING,
answered BOOLEAN, throttle_ms INT, error INT, errors ARRAY<INT>, fault STRING,
topics ARRAY<STRING>, body STRING"""

_FETCH: Final = """
fetch STRUCT<class: STRING, session_id: INT, session_epoch: INT, answered_session_id: INT,
  max_wait_ms: INT, min_bytes: INT, max_bytes: INT, isolation_level: INT, replica_id: INT,
  partitions_requested: INT, partitions_forgotten: INT, partitions_answered: INT,
  records_bytes: BIGINT, request_bytes_saved: BIGINT, response_bytes_saved: BIGINT,
  first_batch_overrun_bytes: BIGINT, high_watermarks_known: INT, high_watermarks_told: INT,
  partitions: ARRAY<STRUCT<topic: STRING, topic_id: STRING, partition: INT, position: INT,
    fetch_offset: BIGINT, max_bytes: INT, high_watermark_known: BIGINT, bytes: BIGINT, error: INT,
    high_watermark: BIGINT, last_stable_offset: BIGINT, log_start_offset: BIGINT,
    slots: ARRAY<ARRAY<BIGINT>>, keys: INT, next_offset: BIGINT, scanned_bytes: INT,
    scanned_records: INT, matched_records: INT, cache_hits: INT,
    acquired: ARRAY<ARRAY<BIGINT>>>>,
  partitions_left_out: INT, `group`: STRING, member: STRING, generation: INT>"""

_PRODUCE: Final = """
produce STRUCT<transactional_id: STRING, acks: INT, timeout_ms: INT, records: BIGINT,
  partitions_requested: INT, partitions_left_out: INT,
  partitions: ARRAY<STRUCT<topic: STRING, topic_id: STRING, partition: INT, bytes: BIGINT,
    records: BIGINT, producer_id: BIGINT, producer_epoch: INT, base_sequence: INT,
    transactional: BOOLEAN, error: INT, offset: BIGINT, crc: BIGINT, keys: INT, top_key: STRING,
    top_key_records: INT>>>"""

_GROUP: Final = """
`group` STRUCT<`group`: STRING, member: STRING, instance: STRING, generation: INT,
  answered_generation: INT, leader: STRING, members: INT, protocol: STRING, error: INT,
  offsets: ARRAY<STRUCT<topic: STRING, partition: INT, offset: BIGINT, error: INT,
    ranges: ARRAY<ARRAY<BIGINT>>, stable: BIGINT, held: INT>>>"""

_TXN: Final = """
txn STRUCT<transactional_id: STRING, producer_id: BIGINT, producer_epoch: INT,
  answered_producer_id: BIGINT, answered_producer_epoch: INT, outcome: STRING, error: INT>"""

_OTHERS: Final = """
requests BIGINT, lifetime_ms DOUBLE, mechanism STRING, renewed BOOLEAN, blocked_ms DOUBLE,
tls_version STRING, tls_cipher STRING,
allowed BOOLEAN, operation STRING, resource_type STRING, resource_name STRING,
resource_ref_count INT,
event STRING, session_id INT, rule STRING, why STRING, expected_epoch INT, epoch INT,
partitions STRING, age_ms DOUBLE, idle_ms DOUBLE,
topic STRING, partition INT, `from` BIGINT, `to` BIGINT, log_end_offset BIGINT, follower INT,
size_bytes BIGINT, held_bytes BIGINT,
`by` STRING, open_ms BIGINT,
action STRING, by_ms DOUBLE, rate DOUBLE, frozen BOOLEAN, id STRING, hits BIGINT,
lines BIGINT,
replay BOOLEAN, base_offset BIGINT, batch STRING, topic_id STRING, configs MAP<STRING, STRING>,
first INT"""

LINE_SCHEMA: Final = (
    f"{_EVERY_LINE},{_RUN},{_REQUEST},{_FETCH},{_PRODUCE},{_GROUP},{_TXN},{_OTHERS}"
)
"""All fields of all kinds, as DDL. A fault's `rule` and a request's `body` are objects there, and
`partitions` a number or, of a topic, an array: their JSON text here."""


def json_structure() -> dict[str, object]:
    """The same fields as a structure of `json_transform`."""
    fields = _parse_fields(LINE_SCHEMA)
    return {name: _structure(kind) for name, kind in fields}


def duckdb_types() -> list[tuple[str, str]]:
    """The same fields with their types in DuckDB's words."""
    return [(name, _duckdb_type(kind)) for name, kind in _parse_fields(LINE_SCHEMA)]


def _duckdb_type(kind: str) -> str:
    head = kind.partition("<")[0]
    if head == "ARRAY":
        return f"{_duckdb_type(_inside(kind))}[]"
    if head == "STRUCT":
        fields = _parse_fields(_inside(kind))
        inner = ", ".join(f'"{name}" {_duckdb_type(part)}' for name, part in fields)
        return f"STRUCT({inner})"
    if head == "MAP":
        return "MAP(VARCHAR, VARCHAR)"
    return {"STRING": "VARCHAR", "INT": "INTEGER"}.get(kind, kind)


NUMBERS: Final = "('BIGINT', 'UBIGINT', 'NULL')"
_JSON_TYPES: Final = {
    "INT": NUMBERS,
    "BIGINT": NUMBERS,
    "DOUBLE": "('BIGINT', 'UBIGINT', 'DOUBLE', 'NULL')",
    "BOOLEAN": "('BOOLEAN', 'NULL')",
    "ARRAY": "('ARRAY', 'NULL')",
    "STRUCT": "('OBJECT', 'NULL')",
    "MAP": "('OBJECT', 'NULL')",
}


def json_paths() -> list[tuple[str, str]]:
    """Paths of the fields that a text cannot fill, with the JSON types that they may have."""
    found = []
    for name, kind in _parse_fields(LINE_SCHEMA):
        head = kind.partition("<")[0]
        if head in _JSON_TYPES:
            found.append((f"$.{name}", _JSON_TYPES[head]))
        if head == "STRUCT":
            found += [
                (f"$.{name}.{inner}", _JSON_TYPES[inner_kind.partition("<")[0]])
                for inner, inner_kind in _parse_fields(_inside(kind))
                if inner_kind.partition("<")[0] in _JSON_TYPES
            ]
    return found


def _structure(kind: str) -> object:
    head = kind.partition("<")[0]
    if head == "ARRAY":
        return [_structure(_inside(kind))]
    if head == "STRUCT":
        return {name: _structure(inner) for name, inner in _parse_fields(_inside(kind))}
    if head == "MAP":
        return "MAP(VARCHAR, VARCHAR)"
    return {"STRING": "VARCHAR", "INT": "INTEGER"}.get(kind, kind)


def _inside(kind: str) -> str:
    return kind[kind.index("<") + 1 : -1]


def _parse_fields(text: str) -> list[tuple[str, str]]:
    """Names and types of `name TYPE, …` or `name: TYPE, …`, where types may nest."""
    depth, start, parts = 0, 0, []
    for place, letter in enumerate(text):
        depth += {"<": 1, ">": -1}.get(letter, 0)
        if letter == "," and not depth:
            parts.append(text[start:place])
            start = place + 1
    parts.append(text[start:])
    pairs = (re.split(r"[\s:]+", part.strip(), maxsplit=1) for part in parts)
    return [(name.strip("`"), kind.strip()) for name, kind in pairs]
