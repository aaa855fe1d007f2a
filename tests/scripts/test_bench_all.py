"""The table of all benchmarks: medians, and ratios of what one round measured."""

from __future__ import annotations

import math

import pytest

from scripts.bench.all import ROWS, Row, main, ratio, table


def test_a_ratio_is_of_the_same_round_and_above_1_is_better_for_us() -> None:
    assert ratio([100, 300, 100], [50, 100, 100], "higher") == "2.00 (1.00–3.00)"
    assert ratio([2.0], [1.0], "lower") == "0.50"
    assert ratio([math.nan, 4.0], [1.0, 1.0], "higher") == "4.00"
    assert ratio([math.nan], [1.0], "higher") == ratio([], [1.0], "higher") == "–"


def test_a_figure_is_a_line_and_a_peer_a_column() -> None:
    row = Row("row", {"requests, /s": "higher"}, lambda _peer, _tag: {})
    samples = {
        ("requests, /s", "compiled"): [1500.0, 2500.0],
        ("requests, /s", "kfake"): [1000.0, math.nan],
        ("idle memory, MB", "compiled"): [30.0],
        ("idle memory, MB", "kfake"): [10.0],
    }
    assert table(["compiled", "kfake"], [row], samples).splitlines() == [
        "| | compiled | kfake | compiled to kfake |",
        "|---|---|---|---|",
        "| requests, /s | 2,000 | 1,000 | 1.50 |",
        "| idle memory, MB | 30.00 | 10.00 | 0.33 |",
    ]


def test_every_row_has_its_own_names() -> None:
    names = [row.name for row in ROWS]
    figures = [figure for row in ROWS for figure in row.figures]
    assert len(set(names)) == len(names)
    assert len(set(figures)) == len(figures)


def test_what_is_not_a_peer_is_compared_with_what_it_changes() -> None:
    row = Row("row", {"requests, /s": "higher"}, lambda _peer, _tag: {})
    samples = {
        ("requests, /s", name): [rate]
        for name, rate in (
            ("compiled", 100.0),
            ("journal", 80.0),
            ("spin", 300.0),
            ("kfake", 200.0),
        )
    }
    head, _, line, _ = table(["compiled", "journal", "spin", "kfake"], [row], samples).splitlines()
    assert head.endswith("| compiled to kfake | journal to compiled | spin to kfake |")
    assert line.endswith("| 0.50 | 0.80 | 1.50 |")


def test_a_name_of_no_row_is_refused_with_those_that_there_are(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["all", "--rows", "Produce to 7 *"])
    with pytest.raises(SystemExit):
        main()
    told = capsys.readouterr().err
    assert "--rows Produce to 7 *: no row has such a name" in told
    assert "  Produce to 100 partitions" in told
