"""The flat relations are the same columns on each engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from mockbroker.pipeline.analyze.dialect import DUCKDB, SPARK
from mockbroker.pipeline.analyze.embedded import EmbeddedEngine
from mockbroker.pipeline.analyze.facts import FACTS
from mockbroker.pipeline.analyze.journals import Source
from mockbroker.pipeline.analyze.relations import line_cells, placed, relations
from tests.support.journal_lines import Journal, partition

if TYPE_CHECKING:
    from pathlib import Path


def test_each_engine_has_the_same_relations() -> None:
    assert list(relations(SPARK)) == list(relations(DUCKDB))


def test_runs_follow_each_other_on_the_time_axis(tmp_path: Path) -> None:
    files = [str(Journal(run).write(tmp_path / run)) for run in ("a", "b")]
    engine = EmbeddedEngine()
    engine.read([Source("base", files)], str(tmp_path / "lines"))
    starts = pa.table({"side": ["base"] * 2, "run": ["a", "b"], "starts_s": [0.0, 60.0]})
    engine.register("run_starts", starts)
    engine.define("placed", placed(DUCKDB, moved=True))
    rows = engine.query("SELECT run, t_ms FROM placed ORDER BY run").to_pylist()
    assert rows == [{"run": "a", "t_ms": 0.0}, {"run": "b", "t_ms": 60_000.0}]
    engine.close()


def test_facts_are_counted_once_for_all_tables(tmp_path: Path) -> None:
    journal = Journal()
    journal.fetch(1.0, partitions=(partition(scanned_bytes=3),))
    journal.group("OffsetCommit", 2.0, offsets=[{"topic": "t", "partition": 0}])
    engine = EmbeddedEngine()
    engine.read([Source("base", [str(journal.write(tmp_path))])], str(tmp_path / "lines"))
    rows = engine.query(line_cells(DUCKDB)).to_pylist()
    found = {name for name in FACTS if sum(row[f"has_{name}"] for row in rows)}
    assert found == {"fetches", "groups", "offsets", "filters", "empty_answers"}
    engine.close()
