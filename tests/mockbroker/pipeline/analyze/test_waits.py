"""Waits by cause, wake-ups in vain, and how long watermarks take to be told."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.mockbroker.pipeline.analyze.conftest import Analysis


def test_how_a_clients_fetches_ended(analysis: Analysis) -> None:
    row = analysis.one("fetch_waits", client_id="c")
    assert (row["fetches"], row["parked"], row["timed_out"]) == (9, 4, 1)
    assert (row["woken"], row["watermark_only"], row["in_vain"]) == (3, 1, 1)
    assert row["max_wait_hit_ratio"] == pytest.approx(1 / 9)
    assert row["max_ms"] == 500.0


def test_waits_by_cause(analysis: Analysis) -> None:
    data = analysis.one("waits", api="Fetch", cause="data")
    assert (data["requests"], data["p50_ms"], data["max_ms"]) == (2, 6.0, 10.0)
    found = {(r["cause"], r["up_to_ms"]): r["requests"] for r in analysis.rows("wait_histogram")}
    assert found == {
        ("timeout", 512.0): 1, ("data", 8.0): 1, ("data", 16.0): 1,
        ("high_watermark", 16.0): 1, ("immediate", 0.0): 8, ("disconnect", 4.0): 1,
    }  # fmt: skip


def test_watermarks_from_their_move_to_the_answer(analysis: Analysis) -> None:
    (row,) = analysis.rows("high_watermarks")
    assert (row["client_id"], row["reader"], row["kip_1166"]) == ("c", "consumer", False)
    assert (row["told"], row["p50_ms"], row["max_ms"]) == (2, 1.0, 8.0)
    (row,) = analysis.rows("high_watermarks", "other")
    assert (row["kip_1166"], row["told"], row["max_ms"]) == (True, 1, 2.0)
    buckets = {r["up_to_ms"]: r["told"] for r in analysis.rows("high_watermark_histogram")}
    assert buckets == {1.0: 1, 8.0: 1}
