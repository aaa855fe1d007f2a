"""The same journals on Spark and on the embedded engine: every cell of every table is equal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pyarrow import parquet

from mockbroker.pipeline.analyze import job, maker, spark_engine
from mockbroker.pipeline.analyze.engine import SMALL_BYTES
from mockbroker.pipeline.analyze.quick_parts import OF_APIS, PRODUCED
from mockbroker.pipeline.analyze.spark_engine import SparkEngine
from mockbroker.pipeline.analyze.table import in_order
from mockbroker.pipeline.analyze.tables import TABLES
from mockbroker.pipeline.command import run
from tests.mockbroker.pipeline.analyze.conftest import written
from tests.mockbroker.pipeline.analyze.test_embedded import hostile
from tests.mockbroker.pipeline.analyze.test_rotation import Reader, asked, served
from tests.mockbroker.pipeline.analyze.test_sharing import shared
from tests.support.journal_lines import Journal

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

JOBS = 14
"""The lines read and counted, and a job for each table that is made of lines."""


def journals(folder: Path, *, odd: bool = True) -> list[str]:
    """All that the tests of the tables know, at once, and (`odd`) lines that are none."""
    _, _, words = written(folder)
    reader = Reader()
    reader.moves(0, 0, 5)
    reader.fetches({**served(0), "fetch_offset": 0}, asked(1, 0), opens=True)
    reader.fetches(served(0), asked(1, 0))
    for number, journal in enumerate((reader.journal, shared())):
        # A run of its own: lines with the same number of one run are nobody's.
        for line in journal.lines:
            line["run"] = f"00000000000000c{number}"
        journal.write(folder / "base" / str(number))
    if odd:
        hostile(folder / "base" / "hostile")
    return words


def equal(there: Path, here: Path, *, large: bool = False) -> None:
    """Rows are in order, but (`large`) where an engine has written them by itself."""
    names = sorted(path.name for path in (here / "tables").iterdir())
    assert sorted(path.name for path in (there / "tables").iterdir()) == names
    for name in names:
        on_spark = parquet.read_table(there / "tables" / name)
        embedded = parquet.read_table(here / "tables" / name)
        if large and name in TABLES and TABLES[name].large:
            on_spark, embedded = (in_order(rows, TABLES[name]) for rows in (on_spark, embedded))
        assert on_spark.to_pylist() == embedded.to_pylist(), name
        assert on_spark.schema.types == embedded.schema.types, name
    assert (there / "report.html").stat().st_size > 100_000


def equal_on_both(
    spark: SparkSession, folder: Path, *, odd: bool = True, large: bool = False
) -> Path:
    """Where Spark's files are, whose every cell is the embedded engine's."""
    words = journals(folder, odd=odd)
    there, here = folder / "there", folder / "here"
    assert run(["analyze", *words, "--out", str(there)], spark) == 0
    assert run(["analyze", *words, "--out", str(here), "--engine", "embedded"]) == 0
    equal(there, here, large=large)
    return there


@pytest.fixture
def parted(monkeypatch: pytest.MonkeyPatch) -> list[frozenset[str]]:
    """Which views of `quick_parts` each engine had."""
    found: list[frozenset[str]] = []

    class Engine(SparkEngine):
        def close(self) -> None:
            found.append(self.parted)
            super().close()

    monkeypatch.setattr(spark_engine, "SparkEngine", Engine)
    return found


def test_every_cell_is_equal_on_both_engines(
    spark: SparkSession, tmp_path: Path, parted: list[frozenset[str]]
) -> None:
    equal_on_both(spark, tmp_path)
    # Among the odd lines are fetches: whatever these list, the engine takes apart.
    assert parted == [frozenset({PRODUCED})]


def test_spark_alone_makes_every_table(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maker, "has_embedded", lambda: False)
    equal_on_both(spark, tmp_path)


def test_large_journals_are_read_in_tasks(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_engine, "SMALL_BYTES", 0)
    monkeypatch.setattr(spark_engine, "has_embedded", lambda: False)
    monkeypatch.setattr(job, "LARGE_LINES", 0)
    before = spark.sparkContext.pythonExec
    lines = equal_on_both(spark, tmp_path, large=True) / "lines"
    assert spark.sparkContext.pythonExec == before
    read_here = parquet.ParquetDataset(list(lines.glob("quick-*.parquet"))).read()
    kinds = set(read_here.column("kind").to_pylist())
    assert kinds == {"request", "high_watermark", "session"}
    assert not list(lines.glob(".quick-*.parquet"))


@pytest.mark.parametrize("small_bytes", [SMALL_BYTES, 0])
def test_what_requests_list_is_read_a_row_each(
    small_bytes: int,
    spark: SparkSession,
    tmp_path: Path,
    parted: list[frozenset[str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(spark_engine, "SMALL_BYTES", small_bytes)
    monkeypatch.setattr(job, "LARGE_LINES", min(small_bytes, maker.LARGE_LINES))
    out = equal_on_both(spark, tmp_path, odd=False, large=not small_bytes)
    assert parted == [frozenset(OF_APIS.values())]
    assert sorted(path.name for path in out.iterdir()) == ["lines", "report.html", "tables"]


@pytest.mark.parametrize("lacking", ["pandas", "this Python"])
def test_tasks_without_our_libraries_read_no_lines(
    lacking: str, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_engine, "SMALL_BYTES", 0)
    if lacking == "pandas":
        monkeypatch.setattr(spark_engine, "find_spec", lambda _name: None)
    else:
        monkeypatch.setenv("PYSPARK_PYTHON", "/usr/bin/another-python")
    file, out = hostile(tmp_path / "j"), tmp_path / "out"
    assert run(["analyze", str(file), "--out", str(out)], spark) == 0
    assert not list((out / "lines").glob("quick-*"))


def test_the_users_session_is_as_it_was(spark: SparkSession, tmp_path: Path) -> None:
    before = spark.conf.get("spark.sql.shuffle.partitions", None)
    file = hostile(tmp_path / "j")
    assert run(["analyze", str(file), "--out", str(tmp_path / "out")], spark) == 0
    assert spark.conf.get("spark.sql.shuffle.partitions", None) == before
    assert not spark.catalog.tableExists("requests")


def test_what_nobody_did_costs_no_job(spark: SparkSession, tmp_path: Path) -> None:
    """A well-behaved consumer: each table in one job, and none of what has no row."""
    journal = Journal()
    for number in range(40):
        news = {"bytes": 10, "fetch_offset": number, "high_watermark": number + 1}
        journal.fetch(10.0 * number, 5.0, fetch={"session_epoch": number + 1}, partitions=(news,))
    words = [str(journal.write(tmp_path / "j")), "--out", str(tmp_path / "out")]
    jvm: Any = spark.sparkContext._jsc.sc()
    before = jvm.statusStore().jobsList(None).size()
    assert run(["analyze", *words], spark) == 0
    assert jvm.statusStore().jobsList(None).size() - before <= JOBS
