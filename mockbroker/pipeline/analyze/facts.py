"""Facts: what lines there must be for a table, or a rule, to have a row. One pass counts them all.

Read by `relations` (`line_cells`, made before all else) and by the tables: `Table.needs` and
`Part.needs` name them. A fact is a condition on one line, or on one partition that a line lists,
and necessary: a rule that needs one is silent on journals without it, so its text is not asked
there. Well-behaved clients cost one pass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.pipeline.analyze.dialect import SPARK

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mockbroker.pipeline.analyze.dialect import Dialect

RETRIABLE: Final = (3, 5, 6, 7, 9, 14, 15, 16, 19, 20, 51, 56, 72, 75, 84, 100)
"""Errors after which Kafka's clients wait for retry.backoff.ms before they ask again."""
OUTSIDE_GENERATION: Final = (22, 25, 113)
"""ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID, STALE_MEMBER_EPOCH."""
WITHOUT_PARTITIONS: Final = (70, 71, 106)
"""FETCH_SESSION_ID_NOT_FOUND, INVALID_FETCH_SESSION_EPOCH, FETCH_SESSION_TOPIC_ID_ERROR."""
SMALL_BYTES: Final = 65_536
"""A fetch that is limited to so little is far too small."""
LAG_RECORDS: Final = 100
"""A reader that is less behind is not."""
SHORT_WAIT_MS: Final = 50
"""A fetch that waits for less than that, again and again, does not wait."""

_REQUEST: Final = "kind = 'request'"
_FETCH: Final = f"{_REQUEST} AND api = 'Fetch'"
_PRODUCE: Final = f"{_REQUEST} AND api = 'Produce'"
_MOVED: Final = "p.error IN (6, 74, 76)"
_LIMIT: Final = "least(max_bytes, p.max_bytes)"

OF_FETCHED: Final = {
    "filters": "p.scanned_bytes IS NOT NULL",
    "lags": f"p.high_watermark - p.fetch_offset >= {LAG_RECORDS}",
    "sips": f"p.bytes > 0 AND {_LIMIT} <= {SMALL_BYTES} AND records_bytes * 2 >= {_LIMIT}",
    "narrow_answers": "p.bytes > 0 AND p.bytes = records_bytes AND p.bytes * 2 >= p.max_bytes"
    f" AND p.max_bytes * 4 <= max_bytes AND p.max_bytes > {SMALL_BYTES}",
    "stable_behind": "isolation_level = 1 AND p.last_stable_offset >= 0"
    " AND p.last_stable_offset < p.high_watermark",
    "moved_leaders": _MOVED,
}
"""Facts of a partition `p` that a fetch lists, beside the fetch's own `max_bytes`, `records_bytes`
and `isolation_level`."""
OF_PRODUCED: Final = {
    "hot_keys": "p.keys > 0 AND p.top_key_records * 10 >= p.records * 3",
    "unsure_batches": "p.producer_id < 0 AND p.crc IS NOT NULL"
    " AND (NOT answered OR p.error IN (7, 20))",
    "out_of_order": "p.error = 45",
    "retriable_batches": f"p.producer_id >= 0 AND p.error IN {RETRIABLE}",
    "moved_leaders": _MOVED,
}
"""Facts of a batch `p` of a produce request, beside whether that was `answered`."""


def of_lines(d: Dialect) -> dict[str, str]:
    """Each fact of a line with the condition on it."""
    group, fetch = d.q("group"), d.q("fetch")
    return {
        "fetches": _FETCH,
        "produces": _PRODUCE,
        "acks_all": f"{_PRODUCE} AND produce.acks = -1",
        "failures": f"{_REQUEST} AND error <> 0",
        "groups": f"{_REQUEST} AND {group} IS NOT NULL",
        "txns": f"{_REQUEST} AND txn.transactional_id IS NOT NULL",
        "sessions": "kind = 'session'",
        "watermarks": "kind = 'high_watermark'",
        "offsets": f"{_REQUEST} AND {group}.offsets IS NOT NULL",
        "sharing": f"{_REQUEST} AND {fetch}.{group} IS NOT NULL",
        **_of_requests(d),
        **_of_fetches(d),
    }


def _of_requests(d: Dialect) -> dict[str, str]:
    group = d.q("group")
    return {
        "sessions_lost": "kind = 'session' AND (event = 'refused'"
        " OR (event = 'not_found' AND why = 'evicted'))",
        "last_followers": "kind = 'high_watermark' AND follower IS NOT NULL",
        "joins": f"{_REQUEST} AND api IN ('JoinGroup', 'LeaveGroup', 'ConsumerGroupHeartbeat')",
        "heartbeats": f"{_REQUEST} AND api IN ('Heartbeat', 'ConsumerGroupHeartbeat')"
        " AND answered AND error = 0",
        "departures": f"{_REQUEST} AND {group} IS NOT NULL AND (api = 'LeaveGroup'"
        " OR error IN (25, 110)"
        f" OR (api = 'ConsumerGroupHeartbeat' AND coalesce({group}.generation, -1) < 0))",
        "outside": f"{_REQUEST} AND api IN ('OffsetCommit', 'TxnOffsetCommit')"
        f" AND {d.has_any('errors', OUTSIDE_GENERATION)}",
        "retriable": f"{_REQUEST} AND api <> 'Produce' AND answered"
        f" AND {d.has_any('errors', RETRIABLE)}",
    }


def _of_fetches(d: Dialect) -> dict[str, str]:
    fetch = d.q("fetch")
    return {
        "empty_answers": f"{_FETCH} AND answered AND error = 0 AND {fetch}.records_bytes = 0"
        f" AND (NOT parked OR {fetch}.max_wait_ms < {SHORT_WAIT_MS})",
        "wrong_epochs": f"{_FETCH} AND {d.has_any('errors', (71,))}",
        "sessions_unknown": f"{_FETCH} AND {d.has_any('errors', (70,))}",
        "lone_epochs": f"{_FETCH} AND {fetch}.session_id = 0 AND {fetch}.session_epoch > 0",
    }


FACTS: Final = tuple(sorted({*of_lines(SPARK), *OF_FETCHED, *OF_PRODUCED}))
"""Names of what journals may have none of."""


def counts(conditions: Mapping[str, str]) -> str:
    """A column for each fact: of how many lines, or partitions, these are true."""
    return ", ".join(
        f"count(*) FILTER (WHERE {conditions[name]}) AS has_{name}"
        if name in conditions
        else f"CAST(0 AS BIGINT) AS has_{name}"
        for name in FACTS
    )
