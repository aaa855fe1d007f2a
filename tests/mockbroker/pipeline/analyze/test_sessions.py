"""Sessions: how they went, and the causes of errors 70 and 71."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.mockbroker.pipeline.analyze.conftest import Analysis


def test_events_by_what_and_why(analysis: Analysis) -> None:
    found = {
        (row["event"], row["rule"] or row["why"]): row["events"]
        for row in analysis.rows("session_events")
    }
    assert found == {
        ("opened", None): 1, ("wrong_epoch", "ahead"): 1, ("evicted", "idle"): 1,
        ("closed", None): 1, ("not_found", "evicted"): 1, ("not_found", "closed"): 1,
    }  # fmt: skip
    assert analysis.one("session_events", event="wrong_epoch")["epochs_lost"] == 4
    assert analysis.one("session_events", event="evicted")["p50_age_ms"] == 565.0


def test_each_error_has_its_cause(analysis: Analysis) -> None:
    found = {
        (row["error"], row["cause"], row["rule"], row["requests"], row["epochs_lost"])
        for row in analysis.rows("session_errors")
    }
    assert found == {
        (71, "ahead", None, 1, 4), (70, "evicted", "idle", 1, 0), (70, "closed", None, 1, 0),
        (70, "fault f1", None, 1, 0),
    }  # fmt: skip


def test_the_series_has_each_event_once(analysis: Analysis) -> None:
    series = analysis.rows("session_series")
    assert sum(row["events"] for row in series) == 6
    assert "evicted, idle" in {row["event"] for row in series}
