"""What stands out: sentences of the tables' figures, what went wrong first, and none of none."""

from __future__ import annotations

from typing import Any

import pytest

from mockbroker.pipeline.analyze.headlines import headlines


def of(side: str = "base", **rows: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    return {name: [{"side": side, **row}] for name, row in rows.items()}


def figures(**values: float) -> dict[str, list[dict[str, Any]]]:
    return {
        "key_figures": [
            {"side": "base", "figure": name.replace("_", " "), "value": value}
            for name, value in values.items()
        ]
    }


TURN = {"client_id": "c", "topic": "t", "partition": 3, "servings": 4, "passed_over_unserved": 0}
SESSION = {"error": 70, "cause": "evicted", "requests": 2}


@pytest.mark.parametrize(
    ("tables", "text", "wrong"),
    [
        (of(runs={"missing": 5}), "5 lines are missing: the figures are too low by them.", True),
        (
            of(conformance_clients={"client_id": "c", "rule": "fetch_epoch", "findings": 1}),
            "1 request that a well-behaved client would not send, most by c (fetch epoch: 1).",
            True,
        ),
        (
            of(session_errors=SESSION),
            "2 fetches got error 70 (session not found): evicted.",
            True,
        ),
        (
            figures(
                fetches=200, incremental_fetches=150, fetch_bytes_spared_by_sessions=2000,
                share_spared_by_sessions=40,
            ),
            (
                "75 % of 200 fetches were incremental; sessions spared 2.0 kB of what full fetches"
                " would have cost (40 %)."
            ),
            False,
        ),
        (
            of(rotation={**TURN, "max_passed_over": 7}),
            "The longest turn: 7 fetches of c passed t-3 over while it had data.",
            False,
        ),
        (
            of(rotation={**TURN, "servings": 0, "passed_over_unserved": 9, "max_passed_over": 0}),
            "1 partition was never served by a reader though there was data.",
            True,
        ),
        (
            of(rebalances={"group": "g", "took_ms": 3_500.0}),
            "1 rebalance, the longest of group g: 3.50 s.",
            True,
        ),
        (
            of(transaction_outcomes={"outcome": "commit", "transactions": 3}),
            "Transactions: 3 committed.",
            False,
        ),
        (
            of(slowest={"api": "JoinGroup", "client_id": "c", "beyond_ms": 2e3, "waited_ms": 2e3}),
            "The slowest request: JoinGroup of c, 2.00 s.",
            False,
        ),
    ],
)  # fmt: skip
def test_a_sentence_is_of_its_figures(
    tables: dict[str, list[dict[str, Any]]], text: str, wrong: bool
) -> None:
    (told,) = headlines(tables)
    assert (told.text, told.wrong) == (text, wrong)


def test_each_side_has_its_own_and_nothing_tells_nothing() -> None:
    assert headlines({}) == []
    assert headlines(of("other", runs={"missing": 5})) == []
    assert len(headlines(of("other", runs={"missing": 5}), "other")) == 1


def test_what_went_wrong_comes_first() -> None:
    tables = figures(fetches=10, incremental_fetches=1, sessions_evicted=2)
    assert [told.wrong for told in headlines(tables)] == [True, False]
