"""Answers against max_bytes, overruns, starved partitions, fairness."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.mockbroker.pipeline.analyze.conftest import Analysis


def test_starved_partitions_are_counted(analysis: Analysis) -> None:
    found = {
        row["partition"]: (row["answers"], row["with_records"], row["starved"])
        for row in analysis.rows("partition_service")
        if row["topic"] == "wide"
    }
    assert found == {0: (3, 2, 1), 1: (2, 1, 1), 2: (2, 0, 2)}


def test_fairness_is_over_limited_answers_alone(analysis: Analysis) -> None:
    row = analysis.one("fairness", client_id="k")
    assert (row["partitions"], row["starved"], row["never_served"]) == (3, 4, 1)
    assert row["jain_index"] == pytest.approx((1 + 1 + 0) ** 2 / (3 * (1 + 1 + 0)))


def test_sizes_against_the_limit(analysis: Analysis) -> None:
    row = analysis.one("response_sizes", client_id="k")
    assert (row["fetches"], row["with_records"], row["max_bytes"]) == (3, 3, 1000)
    assert (row["overruns"], row["max_overrun_bytes"]) == (1, 500)
    fill = {r["up_to_percent"]: r["fetches"] for r in analysis.rows("response_fill")}
    assert fill == {10: 1, 100: 2, 110: 1}
    (overrun,) = analysis.rows("first_overruns")
    assert (overrun["overrun_bytes"], overrun["topic"]) == (500, "wide")
