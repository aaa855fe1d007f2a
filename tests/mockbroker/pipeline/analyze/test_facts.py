"""What facts leave out has no row: each is a necessary condition of the rules that need it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyarrow import parquet

from mockbroker.pipeline.analyze import table
from mockbroker.pipeline.analyze.dialect import DUCKDB, SPARK
from mockbroker.pipeline.analyze.facts import of_lines
from mockbroker.pipeline.command import run
from tests.mockbroker.pipeline.analyze.conftest import written
from tests.support.journal_lines import Journal

if TYPE_CHECKING:
    from pathlib import Path


def test_each_engine_counts_the_same_facts() -> None:
    assert list(of_lines(SPARK)) == list(of_lines(DUCKDB))


def test_no_rule_has_a_row_without_what_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, _, words = written(tmp_path)
    found = []
    for name in ("with", "without"):
        out = tmp_path / name
        assert run(["analyze", *words, "--out", str(out), "--engine", "embedded"]) == 0
        rules = [parquet.read_table(out / "tables" / t) for t in ("conformance", "diagnosis")]
        found.append([rows.to_pylist() for rows in rules])
        monkeypatch.setattr(table.Part, "possible", lambda _part, _facts: True)
    assert found[0] == found[1]
    assert all(found[0])


def test_nobody_is_asked_about_what_nobody_did(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    whole = table.Part.possible

    def possible(part: table.Part, facts: dict[str, int]) -> bool:
        answer = whole(part, facts)
        asked.extend([part.sql] * answer)
        return answer

    monkeypatch.setattr(table.Part, "possible", possible)
    journal = Journal()
    for number in range(40):
        news = {"bytes": 10, "fetch_offset": number, "high_watermark": number + 1}
        journal.fetch(10.0 * number, 5.0, fetch={"session_epoch": number + 1}, partitions=(news,))
    words = [str(journal.write(tmp_path / "j")), "--out", str(tmp_path / "out")]
    assert run(["analyze", *words, "--engine", "embedded"]) == 0
    assert asked == []
