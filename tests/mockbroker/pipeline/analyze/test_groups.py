"""Generations of groups, classic and of KIP-848."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.mockbroker.pipeline.analyze.conftest import Analysis


def test_a_classic_generation_lasts_from_join_to_sync(analysis: Analysis) -> None:
    row = analysis.one("rebalances", group="g")
    assert (row["protocol_type"], row["generation"], row["members"]) == ("classic", 1, 1)
    assert (row["started_s"], row["ended_s"]) == (0.9, pytest.approx(1.005))
    assert (row["took_ms"], row["leader"], row["protocol"]) == (105.0, "m", "range")


def test_an_epoch_lasts_until_its_last_member_heard_of_it(analysis: Analysis) -> None:
    row = analysis.one("rebalances", group="g2")
    assert (row["protocol_type"], row["generation"], row["members"]) == ("consumer", 3, 2)
    assert (row["took_ms"], row["joins"]) == (3.0, 2)


def test_requests_of_a_group_by_error(analysis: Analysis) -> None:
    found = {
        r["error"]: r["requests"]
        for r in analysis.rows("group_requests")
        if r["api"] == "OffsetCommit"
    }
    assert found == {0: 1, 22: 1}
