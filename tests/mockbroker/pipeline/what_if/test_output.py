"""Tables and pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyarrow import parquet

from mockbroker.pipeline.what_if import output

if TYPE_CHECKING:
    from pathlib import Path


def test_a_table_is_a_folder_with_a_file(tmp_path: Path) -> None:
    output.write_tables(
        str(tmp_path), {"some": [{"a": 1, "b": None}, {"a": 2, "b": 0.5}], "no": []}
    )
    assert parquet.read_table(tmp_path / "tables" / "some").to_pylist() == [
        {"a": 1, "b": None},
        {"a": 2, "b": 0.5},
    ]


def test_what_somebody_named_is_escaped() -> None:
    told = output.html_table("<t>", [{"na<me": "<b>", "count": 1234, "share": None, "ms": 0.5}])
    assert "<b>" not in told
    assert "&lt;b&gt;" in told
    assert "1,234" in told
    assert "nothing" in output.html_table("t", [])


def test_a_page_holds_its_plots(tmp_path: Path) -> None:
    pytest.importorskip("plotly")
    plot = output.lines("Polls", "partitions", "polls", {"a": [(1.0, 2.0)]})
    section = output.Section("One", "What?", [plot], {"T": [{"x": 1}]})
    page = output.write_page(str(tmp_path / "new"), "Title", ["fact & fact"], [section])
    text = (tmp_path / "new" / "report.html").read_text("utf-8")
    assert page.endswith("report.html")
    assert "fact &amp; fact" in text
    assert "plotly-graph-div" in text
