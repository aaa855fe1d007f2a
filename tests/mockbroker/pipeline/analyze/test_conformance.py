"""Findings: one of each rule by construction, and none where a fault did it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.mockbroker.pipeline.analyze.conftest import Analysis


def line(analysis: Analysis, seq: int) -> dict[str, object]:
    return next(line for line in analysis.base.lines if line["seq"] == seq)


def test_each_rule_finds_its_request_and_no_other(analysis: Analysis) -> None:
    found = {
        (row["rule"], line(analysis, row["seq"])["at_ms"]) for row in analysis.rows("conformance")
    }
    assert found == {
        ("fetch_epoch", 570.0), ("fetch_closed_session", 590.0),
        ("commit_outside_generation", 1020.0), ("sequence_out_of_order", 691.0),
        ("retry_without_backoff", 805.0), ("produce_without_backoff", 705.0),
    }  # fmt: skip
    assert analysis.rows("conformance", "other") == []


@pytest.mark.parametrize(
    ("rule", "before_ms", "detail"),
    [
        ("fetch_epoch", 568.0, "session 7: epoch 9 after epoch 4"),
        ("fetch_closed_session", 585.0, "session 8 after it was closed"),
        ("sequence_out_of_order", 690.0, "producer 1000, orders-0: sequence 30 where 10 was due"),
        ("retry_without_backoff", 800.0, "5.0 ms after error 5"),
        ("produce_without_backoff", 700.0, "5.0 ms after error 6"),
    ],
)
def test_a_finding_names_the_line_that_makes_it_one(
    analysis: Analysis, rule: str, before_ms: float, detail: str
) -> None:
    row = analysis.one("conformance", rule=rule)
    assert line(analysis, row["before_seq"])["at_ms"] == before_ms
    assert row["detail"] == detail


def test_evidence_has_the_lines_themselves(analysis: Analysis) -> None:
    rows = [r for r in analysis.rows("evidence") if r["rule"] == "sequence_out_of_order"]
    assert [json.loads(r["line"])["at_ms"] for r in sorted(rows, key=lambda r: r["seq"])] == [
        690.0, 691.0
    ]  # fmt: skip
    shown = json.loads(max(rows, key=lambda r: r["seq"])["line"])
    assert shown["produce"]["partitions"][0]["error"] == 45


def test_findings_by_client(analysis: Analysis) -> None:
    row = analysis.one("conformance_clients", client_id="hasty")
    assert (row["rule"], row["findings"]) == ("retry_without_backoff", 1)
