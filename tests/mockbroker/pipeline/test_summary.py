"""The summary line, its JSON and the tables above it."""

from __future__ import annotations

import json

from mockbroker.pipeline.summary import Summary, human_bytes, table


def test_the_line_tells_rows_bytes_time_and_rate() -> None:
    summary = Summary("load", 1_000_000, 104_000_000, "into orders", seconds=4.0)
    assert summary.line() == ("load: 1,000,000 rows, 104.0 MB into orders in 4.0 s, 250,000 rows/s")
    summary.notes.append("resumed")
    assert summary.line().endswith("; resumed")


def test_the_json_has_the_same_and_the_jobs_own_figures() -> None:
    summary = Summary("verify", 3, 10, "of a", figures={"missing": 1}, status=1)
    found = json.loads(summary.as_json())
    assert (found["rows"], found["missing"], found["status"]) == (3, 1, 1)


def test_bytes_in_units() -> None:
    assert [human_bytes(n) for n in (0, 999, 1000, 1_500_000, 2_000_000_000)] == [
        "0 B",
        "999 B",
        "1.0 kB",
        "1.5 MB",
        "2.0 GB",
    ]


def test_a_table_is_padded_and_its_numbers_stand_to_the_right() -> None:
    assert table(["what", "rows"], [["missing", "7"], ["x", "1,000"]]) == (
        "what     rows\nmissing      7\nx        1,000"
    )
