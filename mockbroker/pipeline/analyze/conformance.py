"""Requests that a well-behaved client would not send, each with the lines that show it.

Called through `tables`. `RULES` says what is a finding; each rule is a text that returns the
findings' common columns. Answers that a fault rule made up are no client's doing and never count.
`before_seq` is the line that makes the request wrong, when there is one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from mockbroker.pipeline.analyze.facts import RETRIABLE
from mockbroker.pipeline.analyze.fragments import FIRST_LINE, first_line
from mockbroker.pipeline.analyze.table import Part, Table

if TYPE_CHECKING:
    from collections.abc import Mapping

OUT_OF_ORDER_SEQUENCE: Final = 45


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of finding, in words for the page, its text, and the facts it needs."""

    title: str
    sql: str
    needs: Mapping[str, int]


def _text(column: str, otherwise: str) -> str:
    return f"coalesce(CAST({column} AS STRING), '{otherwise}')"


_SESSION: Final = "side, run, broker, session_id"
# Error 71, with the poll of that session before it.
_WRONG_EPOCH: Final = f"""
SELECT side, client_id, api, run, seq, before_seq,
  'session ' || {_text("session_id", "?")} || ': epoch ' || {_text("session_epoch", "?")}
    || ' after epoch ' || {_text("last_epoch", "?")} AS detail
FROM (
  SELECT side, run, seq, client_id, api, session_id, session_epoch, wrong_epoch, fault,
    lag(seq) OVER (PARTITION BY {_SESSION} ORDER BY seq) AS before_seq,
    lag(session_epoch) OVER (PARTITION BY {_SESSION} ORDER BY seq) AS last_epoch
  FROM requests WHERE is_fetch AND session_id > 0
) AS polls
WHERE wrong_epoch AND fault IS NULL"""
# An epoch above 0 without a session id: no client has reason to.
_EPOCH_ALONE: Final = """
SELECT side, client_id, api, run, seq, CAST(NULL AS BIGINT) AS before_seq,
  'epoch ' || CAST(session_epoch AS STRING) || ' without a session' AS detail
FROM requests WHERE is_fetch AND session_id = 0 AND session_epoch > 0"""
# Error 70 for a session that the client itself had closed.
_CLOSED: Final = f"""
SELECT late.side, client_id, api, late.run, seq, closed_seq AS before_seq,
  'session ' || CAST(late.session_id AS STRING) || ' after it was closed' AS detail
FROM (SELECT * FROM requests WHERE is_fetch AND session_not_found AND fault IS NULL) AS late
JOIN (SELECT {_SESSION}, max(seq) AS closed_seq FROM lines
  WHERE kind = 'session' AND event = 'closed' GROUP BY {_SESSION}) AS closed
ON late.side = closed.side AND late.run = closed.run AND late.broker = closed.broker
  AND late.session_id = closed.session_id
WHERE seq > closed_seq"""
_OUTSIDE: Final = f"""
SELECT side, client_id, api, run, seq, CAST(NULL AS BIGINT) AS before_seq,
  'group ' || {_text("group_", "?")} || ', member ' || {_text("member", "(none)")}
    || ', generation ' || {_text("generation", "(none)")} || ': error ' || CAST(error AS STRING)
    AS detail
FROM requests
WHERE api IN ('OffsetCommit', 'TxnOffsetCommit') AND outside_generation AND fault IS NULL"""

_BATCHES: Final = "side, run, topic, partition, producer_id, producer_epoch"
# Error 45, with the batch of that producer and partition before it.
_OUT_OF_ORDER: Final = f"""
SELECT side, client_id, api, run, seq, before_seq,
  'producer ' || CAST(producer_id AS STRING) || ', ' || {_text("topic", "?")} || '-'
    || {_text("partition", "?")} || ': sequence ' || {_text("base_sequence", "?")} || ' where '
    || {_text("due", "0")} || ' was due' AS detail
FROM (
  SELECT *, lag(seq) OVER (PARTITION BY {_BATCHES} ORDER BY seq) AS before_seq,
    lag(base_sequence + records) OVER (PARTITION BY {_BATCHES} ORDER BY seq) AS due
  FROM produced WHERE producer_id >= 0
) AS batches
WHERE error = {OUT_OF_ORDER_SEQUENCE} AND fault IS NULL"""

_PAUSE: Final = (
    "CAST(CAST(pause_ms AS DECIMAL(18, 1)) AS STRING) || ' ms after error '"
    " || CAST(code_before AS STRING)"
)
_ASKED: Final = "(PARTITION BY side, run, broker, connection, api ORDER BY seq)"
# The same API for the same topics and group again, at once after a retriable error. Requests that
# clients send ahead of their answers (Produce) are told by the next rule.
_HASTY: Final = f"""
SELECT side, client_id, api, run, seq, before_seq, {_PAUSE} AS detail
FROM (
  SELECT side, run, seq, client_id, api, topics, group_,
    arrived_ms - lag(completed_ms) OVER {_ASKED} AS pause_ms,
    lag(retriable) OVER {_ASKED} AS failed_before, lag(error) OVER {_ASKED} AS code_before,
    lag(seq) OVER {_ASKED} AS before_seq, lag(topics) OVER {_ASKED} AS topics_before,
    lag(group_) OVER {_ASKED} AS group_before
  FROM requests WHERE answered AND api <> 'Produce'
) AS asked
WHERE failed_before AND pause_ms < :backoff_ms AND topics IS NOT DISTINCT FROM topics_before
  AND group_ IS NOT DISTINCT FROM group_before"""
_AGAIN: Final = f"(PARTITION BY {_BATCHES}, base_sequence ORDER BY seq)"
# The same batch of an idempotent producer again, at once after a retriable error.
_HASTY_PRODUCE: Final = f"""
SELECT side, client_id, api, run, seq, before_seq, {_PAUSE} AS detail
FROM (
  SELECT side, run, seq, client_id, api, arrived_ms - lag(completed_ms) OVER {_AGAIN} AS pause_ms,
    lag(error) OVER {_AGAIN} AS code_before, lag(seq) OVER {_AGAIN} AS before_seq
  FROM produced WHERE producer_id >= 0
) AS batches
WHERE code_before IN {RETRIABLE} AND pause_ms < :backoff_ms"""

RULES: Final = {
    "fetch_epoch": Rule(
        "Fetch with a session epoch that is not the next one", _WRONG_EPOCH, {"wrong_epochs": 1}
    ),
    "fetch_epoch_alone": Rule(
        "Fetch with an epoch but no session", _EPOCH_ALONE, {"lone_epochs": 1}
    ),
    "fetch_closed_session": Rule(
        "Fetch in a session that its client had closed",
        _CLOSED,
        {"sessions_unknown": 1, "sessions": 1},
    ),
    "commit_outside_generation": Rule(
        "Commit outside the group's generation", _OUTSIDE, {"outside": 1}
    ),
    "sequence_out_of_order": Rule(
        "Batch whose sequence is not the next one", _OUT_OF_ORDER, {"out_of_order": 1}
    ),
    "retry_without_backoff": Rule("Retry without back-off", _HASTY, {"retriable": 1}),
    "produce_without_backoff": Rule(
        "Batch sent again without back-off", _HASTY_PRODUCE, {"retriable_batches": 1}
    ),
}
_PARTS: Final = tuple(
    Part(
        f"SELECT side, '{name}' AS rule, client_id, api, run, seq, before_seq, detail"
        f" FROM ({rule.sql}) AS of_{name}",
        rule.needs,
    )
    for name, rule in RULES.items()
)

TABLES: Final = (
    Table(
        "conformance",
        "side STRING, rule STRING, client_id STRING, api STRING, run STRING, seq BIGINT,"
        " before_seq BIGINT, detail STRING",
        "",
        "side, run, seq, rule",
        large=True,
        parts=_PARTS,
    ),
    Table(
        "conformance_clients",
        "side STRING, rule STRING, client_id STRING, findings BIGINT, first_run STRING,"
        " first_seq BIGINT",
        f"""
SELECT side, rule, client_id, findings, {first_line("first_line")}
FROM (SELECT side, rule, client_id, count(*) AS findings, {FIRST_LINE} AS first_line
  FROM conformance GROUP BY side, rule, client_id) AS counted""",
        "findings DESC, side, rule, client_id",
        of=("conformance",),
    ),
)
