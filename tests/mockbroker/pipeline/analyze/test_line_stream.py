"""Lines that a stream parses as they come: what a run over all of them finds, each read once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pyarrow import parquet

from mockbroker.pipeline.analyze import tail as tail_module
from mockbroker.pipeline.analyze.follow import follow
from mockbroker.pipeline.command import run
from tests.mockbroker.pipeline.analyze.conftest import written
from tests.mockbroker.pipeline.analyze.test_embedded import BAD
from tests.mockbroker.pipeline.analyze.test_spark_engine import equal

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_a_followed_journal_has_the_tables_of_a_whole_one(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It grows in the middle of lines, another file comes, and some lines are none."""
    _, _, words = written(tmp_path)
    (file,) = (tmp_path / "base").glob("*.jsonl")
    whole = file.read_bytes() + "".join(f"{line}\n" for line in BAD).encode()
    (other,) = (tmp_path / "other").glob("*.jsonl")
    late = other.read_bytes()
    other.write_bytes(b"")
    file.write_bytes(b"")
    cuts = [len(whole) // 3 + 7, 2 * len(whole) // 3 + 5, len(whole)]

    def grow(_: float) -> None:
        if not cuts:
            raise KeyboardInterrupt
        file.write_bytes(whole[: cuts.pop(0)])
        if not cuts:
            other.write_bytes(late)

    copied: list[int] = []
    copy: Any = tail_module._copy

    def counted(source: Path, target: Path, begin: int, end: int) -> None:
        copied.append(end - begin)
        copy(source, target, begin, end)

    monkeypatch.setattr(tail_module, "_copy", counted)
    monkeypatch.setattr(follow, "__defaults__", (grow,))
    there, here = tmp_path / "there", tmp_path / "here"
    assert run(["analyze", *words, "--out", str(there), "--follow"], spark) == 0
    assert "waiting for the first line" in capsys.readouterr().err
    assert sum(copied) == len(whole) + len(late)
    assert len(copied) == 4
    assert run(["analyze", *words, "--out", str(here), "--engine", "embedded"]) == 0
    equal(there, here)
    assert sorted(path.name for path in there.iterdir()) == ["lines", "report.html", "tables"]
    lines = [parquet.read_table(out / "lines") for out in (there, here)]
    assert lines[0].num_rows == lines[1].num_rows
    assert not spark.streams.active
