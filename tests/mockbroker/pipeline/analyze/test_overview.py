"""Runs, kinds, APIs, errors, the slowest requests, key figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.mockbroker.pipeline.analyze.conftest import Analysis


def test_a_run_tells_what_is_missing_from_it(analysis: Analysis) -> None:
    (row,) = analysis.rows("runs")
    assert row["lines"] == len(analysis.base.lines)
    assert (row["run"], row["dropped"], row["missing"]) == (analysis.base.run, 5, 5)
    assert (row["starts_s"], row["lasted_s"], row["nodes"]) == (0.0, 1.3, 1)


def test_key_figures(analysis: Analysis) -> None:
    figures = analysis.figures()
    requests = [line for line in analysis.base.lines if line["kind"] == "request"]
    assert figures["requests"] == len(requests)
    assert figures["requests with errors"] == sum(1 for line in requests if line["error"])
    expected = {
        "fetches": 13, "unanswered fetches": 1, "full fetches": 1, "incremental fetches": 11,
        "sessionless fetches": 0,
        "fetch bytes on the wire": 3200, "fetch bytes spared by sessions": 1430,
        "records fetched": 3600, "sessions opened": 1, "sessions evicted": 1, "errors 70": 2,
        "errors 71": 1, "fetches woken by news": 3, "fetches woken in vain": 1,
        "first batches beyond a limit": 1, "transactions committed": 1,
        "transactions aborted": 1, "connections opened": 1,
    }  # fmt: skip
    assert {name: figures[name] for name in expected} == expected
    assert figures["share spared by sessions"] == pytest.approx(100 * 1430 / 4630)
    assert analysis.figures("other")["sessionless fetches"] == 2


def test_apis_and_errors(analysis: Analysis) -> None:
    row = analysis.one("apis", api="Metadata")
    assert (row["requests"], row["clients"], row["with_errors"]) == (3, 1, 2)
    assert analysis.one("errors", api="Fetch", error=70)["by_faults"] == 1


def test_the_slowest_is_what_took_longest_beyond_its_wish(analysis: Analysis) -> None:
    rows = sorted(analysis.rows("slowest"), key=lambda row: -row["beyond_ms"])
    assert (rows[0]["api"], rows[0]["beyond_ms"]) == ("JoinGroup", 100.0)
    polled = next(row for row in rows if row["waited_ms"] == 500.0)
    assert (polled["max_wait_ms"], polled["beyond_ms"]) == (500, 0.0)
