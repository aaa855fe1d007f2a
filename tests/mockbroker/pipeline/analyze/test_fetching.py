"""Fetch classes, bytes on the wire, and what full fetches would have cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.mockbroker.pipeline.analyze.conftest import Analysis


def test_a_clients_bytes_are_what_its_lines_say(analysis: Analysis) -> None:
    full = analysis.one("fetch_clients", client_id="c", **{"class": "FULL"})
    assert (full["fetches"], full["request_bytes"], full["response_bytes"]) == (1, 1000, 500)
    polls = analysis.one("fetch_clients", client_id="c", **{"class": "INCREMENTAL"})
    assert (polls["fetches"], polls["with_errors"]) == (8, 4)
    assert (polls["request_bytes"], polls["request_bytes_in_full"]) == (760, 760 + 940)
    assert (polls["response_bytes"], polls["response_bytes_in_full"]) == (390, 390 + 460)
    assert polls["records_bytes"] == 100


def test_a_fetch_that_nobody_was_answered_is_of_no_class(analysis: Analysis) -> None:
    (row,) = [row for row in analysis.rows("fetch_clients") if row["client_id"] == "gone"]
    assert (row["class"], row["fetches"]) == ("UNANSWERED", 1)
    assert (row["request_bytes"], row["request_bytes_in_full"]) == (100, 130)
    assert (row["response_bytes"], row["response_bytes_in_full"]) == (0, 0)


def test_the_series_is_the_same_bytes_over_time(analysis: Analysis) -> None:
    series, clients = analysis.rows("fetch_series"), analysis.rows("fetch_clients")
    for column in ("fetches", "request_bytes", "response_bytes_in_full", "records_bytes"):
        assert sum(r[column] for r in series) == sum(r[column] for r in clients)
    width = 0.01  # 1.3 s in at most 160 steps
    first = min(series, key=lambda row: row["start_s"])
    assert (first["start_s"], first["class"]) == (pytest.approx(width), "FULL")


def test_the_other_run_is_apart(analysis: Analysis) -> None:
    (row,) = analysis.rows("fetch_clients", "other")
    assert (row["class"], row["fetches"], row["telling_high_watermarks"]) == ("SESSIONLESS", 2, 1)
