"""The same journals in Spark's SQL and on the embedded engine: every cell of every table is equal.

On one machine the tasks would use that engine too (`task_engine`): `by_sql` keeps them from it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pyarrow import parquet

from mockbroker.pipeline.analyze import job, maker, spark_engine, task_engine
from mockbroker.pipeline.analyze.spark_engine import SparkEngine
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


def journals(folder: Path) -> list[str]:
    """All that the tests of the tables know, at once, and lines that are none."""
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
    hostile(folder / "base" / "hostile")
    return words


def equal(there: Path, here: Path, *, large: bool = False) -> None:
    """Rows are in order, but (`large`) where an engine has written them by itself."""
    names = sorted(path.name for path in (here / "tables").iterdir())
    assert sorted(path.name for path in (there / "tables").iterdir()) == names
    for name in names:
        on_spark = parquet.read_table(there / "tables" / name)
        embedded = parquet.read_table(here / "tables" / name)
        rows = [found.to_pylist() for found in (on_spark, embedded)]
        if large and name in ("corrupt", *(table.name for table in TABLES.values() if table.large)):
            rows = [sorted(found, key=repr) for found in rows]
        assert rows[0] == rows[1], name
        assert on_spark.schema.types == embedded.schema.types, name
    assert (there / "report.html").stat().st_size > 100_000


def equal_on_both(spark: SparkSession, folder: Path, *, large: bool = False) -> Path:
    """Where Spark's files are, whose every cell is the embedded engine's."""
    words = journals(folder)
    there, here = folder / "there", folder / "here"
    assert run(["analyze", *words, "--out", str(there)], spark) == 0
    assert run(["analyze", *words, "--out", str(here), "--engine", "embedded"]) == 0
    equal(there, here, large=large)
    assert sorted(path.name for path in there.iterdir()) == ["lines", "report.html", "tables"]
    return there


@pytest.fixture
def by_sql(monkeypatch: pytest.MonkeyPatch) -> list[SparkEngine]:
    """The engines that were opened, of Spark's SQL all of them."""
    opened: list[SparkEngine] = []

    class Engine(SparkEngine):
        def close(self) -> None:
            opened.append(self)
            super().close()

    monkeypatch.setattr(task_engine, "has_embedded", lambda: False)
    monkeypatch.setattr(task_engine, "SparkEngine", Engine)
    return opened


def test_every_cell_is_equal_on_both_engines(
    spark: SparkSession, tmp_path: Path, by_sql: list[SparkEngine]
) -> None:
    equal_on_both(spark, tmp_path)
    assert len(by_sql) == 1


def test_spark_alone_makes_every_table_large_ones_too(
    spark: SparkSession, tmp_path: Path, by_sql: list[SparkEngine], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maker, "has_embedded", lambda: False)
    monkeypatch.setattr(spark_engine, "SMALL_BYTES", 0)
    monkeypatch.setattr(job, "LARGE_LINES", 0)
    equal_on_both(spark, tmp_path, large=True)
    assert len(by_sql) == 1


@pytest.mark.usefixtures("by_sql")
def test_the_users_session_is_as_it_was(spark: SparkSession, tmp_path: Path) -> None:
    before = spark.conf.get("spark.sql.shuffle.partitions", None)
    file = hostile(tmp_path / "j")
    assert run(["analyze", str(file), "--out", str(tmp_path / "out")], spark) == 0
    assert spark.conf.get("spark.sql.shuffle.partitions", None) == before
    assert not spark.catalog.tableExists("requests")


@pytest.mark.usefixtures("by_sql")
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
