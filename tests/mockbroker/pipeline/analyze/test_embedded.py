"""Lines parsed by the embedded engine: what is none keeps its text and is counted nowhere else."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from pyarrow import parquet

from mockbroker.pipeline.analyze.embedded import EmbeddedEngine
from mockbroker.pipeline.analyze.journals import Source
from mockbroker.pipeline.errors import PipelineError
from tests.support.journal_lines import Journal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BAD = (
    "{", "[]", '"text"', '{"schema":1}',
    '{"schema":1,"kind":"clock","run":"r","seq":"x","at_ms":1}',
    '{"schema":1,"kind":"clock","run":"r","seq":5,"at_ms":true}',
    '{"schema":1,"kind":"clock","run":"r","seq":5.5,"at_ms":1}',
    '{"schema":1,"kind":"request","run":"r","seq":5,"at_ms":1,"fetch":7}',
    '{"schema":1,"kind":"request","run":"r","seq":5,"at_ms":1,"fetch":{"session_id":"x"}}',
    '{"schema":1,"kind":"request","run":"r","seq":5,"at_ms":1,"answered":"yes"}',
    '{"schema":1,"kind":"request","run":"r","seq":99999999999999999999,"at_ms":1}',
)  # fmt: skip


@pytest.fixture
def engine() -> Iterator[EmbeddedEngine]:
    opened = EmbeddedEngine()
    yield opened
    opened.close()


def hostile(folder: Path) -> Path:
    """A journal with lines of which each is none in a way of its own."""
    journal = Journal("00000000000000ee")
    journal.fetch(5.0, partitions=({"bytes": 7},))
    journal.add("fault", 6.0, action="added", id="f1", hits=0, rule={"api": "Fetch", "n": [1, 2]})
    told = [[1, 0, [1], [1]]]
    journal.add("topic", 7.0, broker=1, action="created", topic="t", first=0, partitions=told)
    journal.add("loop_blocked", 8.0, broker=1, blocked_ms=301.25)
    file = journal.write(folder)
    file.write_text(file.read_text() + "\n  \n" + "\n".join(BAD) + "\n")
    return file


def test_a_line_that_is_none_keeps_its_text(engine: EmbeddedEngine, tmp_path: Path) -> None:
    file = hostile(tmp_path / "j")
    engine.read([Source("base", [str(file)])], str(tmp_path / "lines"))
    rows = engine.query("SELECT * FROM every ORDER BY seq").to_pylist()
    assert sorted(row["raw"] for row in rows if row["raw"] is not None) == sorted(BAD)
    good = [row for row in rows if row["raw"] is None]
    assert [row["kind"] for row in good] == ["run", "request", "fault", "topic", "loop_blocked"]
    assert good[1]["fetch"]["partitions"][0]["bytes"] == 7
    assert good[2]["rule"] == '{"api":"Fetch","n":[1,2]}'
    assert good[3]["partitions"].replace(" ", "") == "[[1,0,[1],[1]]]"
    assert {row["journal"] for row in rows} == {file.name}
    assert parquet.read_table(tmp_path / "lines").num_rows == len(rows)


def test_a_mistake_in_a_text_is_one_line(engine: EmbeddedEngine) -> None:
    with pytest.raises(PipelineError, match=r"the embedded engine: .*nowhere") as told:
        engine.query("SELECT 1 FROM nowhere")
    assert "\n" not in str(told.value)


def test_files_elsewhere_are_sparks(engine: EmbeddedEngine, tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match="s3a://b/j: the embedded engine reads local files"):
        engine.read([Source("base", ["s3a://b/j"])], str(tmp_path))


def test_pandas_is_not_imported_where_it_is(tmp_path: Path) -> None:
    """It would take a fifth of a small analysis."""
    (tmp_path / "pandas.py").write_text("raise RuntimeError('pandas was imported')\n")
    file = hostile(tmp_path / "journal")
    code = "import sys; from mockbroker.pipeline.command import run; sys.exit(run(sys.argv[1:]))"
    words = ["analyze", str(file), "--out", str(tmp_path / "out"), "--engine", "embedded"]
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
