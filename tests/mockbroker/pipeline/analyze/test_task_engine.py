"""The same journals by Spark's tasks and by the embedded engine alone: every cell is equal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pyarrow import parquet

from mockbroker.pipeline.analyze import job, task_engine
from mockbroker.pipeline.analyze.spark_engine import SparkEngine
from mockbroker.pipeline.analyze.task_engine import TaskEngine, open_engine, share
from mockbroker.pipeline.command import run
from tests.mockbroker.pipeline.analyze.test_embedded import hostile
from tests.mockbroker.pipeline.analyze.test_spark_engine import equal_on_both

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

SMALL_JOBS = 5
"""The lines read, counted, the tables of lines, those of large tables, and the evidence."""


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[TaskEngine]:
    """The engines whose tasks did it."""
    engines: list[TaskEngine] = []

    class Engine(TaskEngine):
        def close(self) -> None:
            engines.append(self)
            super().close()

    monkeypatch.setattr(task_engine, "TaskEngine", Engine)
    return engines


def jobs(spark: SparkSession) -> int:
    jvm: Any = spark.sparkContext._jsc.sc()
    return int(jvm.statusStore().jobsList(None).size())


@pytest.mark.spark
def test_small_journals_are_a_task_a_job(
    spark: SparkSession, tmp_path: Path, opened: list[TaskEngine]
) -> None:
    before = jobs(spark), spark.sparkContext.pythonExec
    out = equal_on_both(spark, tmp_path)
    assert len(opened) == 1
    assert jobs(spark) - before[0] <= SMALL_JOBS
    assert spark.sparkContext.pythonExec == before[1]
    kinds = set(parquet.read_table(out / "lines")["kind"].to_pylist())
    assert {"request", "high_watermark", "session", "run", None} <= kinds


@pytest.mark.spark
def test_large_tables_are_a_tasks_to_write(
    spark: SparkSession, tmp_path: Path, opened: list[TaskEngine], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_engine, "SMALL_BYTES", 0)
    monkeypatch.setattr(job, "LARGE_LINES", 0)
    out = equal_on_both(spark, tmp_path, large=True)
    assert len(opened) == 1
    assert len(list((out / "lines").iterdir())) > 1
    assert not list(out.rglob(".part-*"))


@pytest.mark.spark
def test_a_task_may_be_in_another_folder(
    spark: SparkSession, tmp_path: Path, opened: list[TaskEngine], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job, "LARGE_LINES", 0)
    file = hostile(tmp_path / "j")
    monkeypatch.chdir(tmp_path)
    assert run(["analyze", str(file.relative_to(tmp_path)), "--out", "out"], spark) == 0
    assert len(opened) == 1
    assert parquet.read_table(tmp_path / "out" / "tables" / "corrupt").num_rows > 0


@pytest.mark.spark
def test_what_fails_in_a_task_is_one_line(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(task_engine, "MEMORY_BYTES", 0)
    monkeypatch.setattr(task_engine, "LEAST_BYTES", 1)
    file, out = hostile(tmp_path / "j"), tmp_path / "out"
    assert run(["analyze", str(file), "--out", str(out)], spark) == 2
    [line] = [line for line in capsys.readouterr().err.splitlines() if "mockbroker: " in line]
    assert "Out of Memory" in line
    assert not out.exists()


@pytest.mark.spark
@pytest.mark.parametrize("lacking", ["the engine", "this Python", "a folder here"])
def test_tasks_that_see_nothing_of_this_machine_speak_sql(
    lacking: str, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path)
    if lacking == "the engine":
        monkeypatch.setattr(task_engine, "has_embedded", lambda: False)
    elif lacking == "this Python":
        monkeypatch.setenv("PYSPARK_PYTHON", "/usr/bin/another-python")
    else:
        path = f"file://{path}"
    engine = open_engine(spark, None, path)
    engine.close()
    assert type(engine) is SparkEngine


def test_tasks_together_use_the_machine_once() -> None:
    assert share(2, 13) == share(2, 2)
    assert [(share(cores, tasks).threads, share(cores, tasks).memory_bytes >> 20)
            for cores, tasks in ((1, 1), (2, 1), (2, 13), (16, 4), (16, 40))] == [
        (1, 2048), (2, 2048), (1, 1024), (4, 512), (1, 256),
    ]  # fmt: skip
