"""Rows of brokers and clients add up to tables."""

from __future__ import annotations

from typing import Any

from mockbroker.pipeline.what_if.replay_job import (
    changes_of,
    deviation,
    summary_of,
    tables_of,
    trust_of,
)
from mockbroker.what_if.replay import (
    AS_IT_WAS,
    BROKER,
    CONSUMER,
    FOLLOWER,
    RECORDED,
    WHAT_IF,
    Group,
)

Row = dict[str, Any]


def row(figures: str, client: str, polls: int, *, kind: str = CONSUMER, **errors: int) -> Row:
    group = Group()
    group.costs.polls = polls
    group.costs.request_bytes = 10 * polls
    group.costs.waits.note(5.0, polls)
    group.partition_errors = {int(name[1:]): count for name, count in errors.items()}
    group.connections = 1
    return {**group.row("ab", 1, (client, kind), figures)}


def broker(figures: str, **events: int) -> Row:
    return {**Group().row("ab", 1, ("", BROKER), figures), "session_events": events}


ROWS = [
    row(RECORDED, "app", 100),
    row(RECORDED, "broker-2-fetcher-0", 50, kind=FOLLOWER),
    broker(RECORDED, opened=2),
    row(AS_IT_WAS, "app", 101),
    row(AS_IT_WAS, "broker-2-fetcher-0", 50, kind=FOLLOWER),
    broker(AS_IT_WAS, opened=2),
    row(WHAT_IF, "app", 202, _1=3, _71=4),
    row(WHAT_IF, "broker-2-fetcher-0", 50, kind=FOLLOWER),
    {**broker(WHAT_IF), "session_events": {"refused": 9, "evicted aged": 1, "evicted idle": 2}},
]


def test_figures_add_up_by_kind_broker_and_all() -> None:
    tables = tables_of(ROWS)
    assert [each["polls"] for each in tables["totals"]] == [150, 151, 252]
    assert [each["polls"] for each in tables["brokers"]] == [150, 151, 252]
    assert [(each["kind"], each["polls"]) for each in tables["kinds"]] == [
        (CONSUMER, 100), (CONSUMER, 101), (CONSUMER, 202),
        (FOLLOWER, 50), (FOLLOWER, 50), (FOLLOWER, 50),
    ]  # fmt: skip
    assert len(tables["clients"]) == 6
    assert tables["totals"][2]["errors"] == '{"1": 3, "71": 4}'


def test_changes_stand_side_by_side() -> None:
    changes = {each["figure"]: each for each in changes_of(tables_of(ROWS)["totals"])}
    polls = changes["polls"]
    assert (polls["recorded"], polls["as_it_was"], polls["what_if"]) == (150, 151, 252)
    assert polls["change_percent"] == round(100 * (252 / 151 - 1), 2)
    assert changes["sessions_evicted"]["what_if"] == 3
    assert changes["sessions_refused"]["what_if"] == 9
    assert (changes["error_71"]["recorded"], changes["error_71"]["what_if"]) == (0, 4)
    assert changes["looked_at"]["recorded"] is None


def test_how_far_a_run_is_off_is_said() -> None:
    tables = tables_of(ROWS)
    name, percent = deviation(tables["totals"])
    assert name in {"polls", "request_bytes"}
    assert round(percent, 2) == 0.67
    assert "by 0.67 %" in trust_of(tables)
    same = tables_of(
        [{**each, "figures": name} for each in ROWS[:3] for name in (RECORDED, AS_IT_WAS, WHAT_IF)]
    )
    assert "are those that were recorded" in trust_of(same)


def test_the_summary_has_the_changes_and_what_is_missing() -> None:
    rows = [{**each, "lines_dropped": 7 if each["kind"] == BROKER else 0} for each in ROWS]
    summary = summary_of(tables_of(rows), "page")
    assert "sessions_refused" in summary.tables[0]
    assert (summary.rows, summary.unit) == (150, "fetches")
    assert summary.notes[1] == "7 lines are missing in the journals"
