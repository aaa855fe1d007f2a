"""Transactions: committed, aborted, left, open, fenced."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.mockbroker.pipeline.analyze.conftest import Analysis


def test_each_transaction_has_its_outcome(analysis: Analysis) -> None:
    found = sorted(
        (row["transactional_id"], row["outcome"], row["took_ms"], row["steps"])
        for row in analysis.rows("transactions")
    )
    assert found == [
        ("t1", "abort", 1.0, 1), ("t1", "commit", 4.0, 1), ("t1", "left", 30.0, 1),
        ("t1", "open", 0.0, 1), ("t2", "fenced", 1.0, 1),
    ]  # fmt: skip


def test_outcomes_by_id(analysis: Analysis) -> None:
    row = analysis.one("transaction_outcomes", transactional_id="t1", outcome="commit")
    assert (row["transactions"], row["max_ms"]) == (1, 4.0)
