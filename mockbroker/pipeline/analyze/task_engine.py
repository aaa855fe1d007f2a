"""Spark on one machine: its tasks read the journals and answer texts by the embedded engine.

Called by `job` and `line_stream` where tasks see this machine's files, with this Python and its
libraries. A file is a task, and so is a text. DuckDB reads the same texts as Spark, and in a JVM
that has just begun it is some ten times as quick, later five times.
"""

from __future__ import annotations

import os
import sys
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final, cast
from urllib.parse import unquote, urlsplit

from mockbroker.pipeline.analyze.dialect import DUCKDB
from mockbroker.pipeline.analyze.embedded import EmbeddedEngine, put_locally
from mockbroker.pipeline.analyze.engine import SMALL_BYTES, Ask, has_embedded
from mockbroker.pipeline.analyze.journals import Source
from mockbroker.pipeline.analyze.spark_engine import SparkEngine
from mockbroker.pipeline.session import is_connect, is_local

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import pyarrow as pa
    from pyspark import SparkContext
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

    from mockbroker.pipeline.analyze.engine import Engine

MEMORY_BYTES: Final = 2 << 30
"""Of the tasks that run at once together; what is more goes to files."""
LEAST_BYTES: Final = 256 << 20


@dataclass(frozen=True, slots=True)
class Share:
    """What a task may use of the machine."""

    threads: int
    memory_bytes: int


def share(cores: int, tasks: int) -> Share:
    """What each of so many tasks may use, of which one runs on each core."""
    at_once = min(cores, tasks)
    return Share(max(1, cores // at_once), max(LEAST_BYTES, MEMORY_BYTES // at_once))


@dataclass(frozen=True, slots=True)
class Known:
    """What texts may read: Parquet files by the name of their view, rows, and views in order."""

    files: Mapping[str, Sequence[str]]
    rows: Mapping[str, pa.Table]
    views: Mapping[str, str]


def answer(of: Share, known: Known, asks: Iterator[Ask]) -> Iterator[pa.Table | int]:
    """In a task: the rows of each text, or how many were written."""
    with _engine(of) as engine:
        for name, files in known.files.items():
            listed = ", ".join(map(DUCKDB.text, files))
            engine.define(name, f"SELECT * FROM read_parquet([{listed}])")
        for name, rows in known.rows.items():
            engine.register(name, rows)
        for name, sql in known.views.items():
            engine.define(name, sql)
        for ask in asks:
            found = engine.query(ask.sql)
            if ask.path:
                put_locally(found, ask.path)
            yield int(found.num_rows) if ask.path else found


def read(of: Share, lines_path: str, files: Iterator[tuple[int, str, str]]) -> None:
    """In a task: parse files of the sides, and write each under its number."""
    for number, side, file in files:
        with _engine(of) as engine:
            engine.read([Source(side, (file,))], lines_path, number)


@contextmanager
def _engine(of: Share) -> Iterator[EmbeddedEngine]:
    with TemporaryDirectory() as spilled, closing(EmbeddedEngine()) as engine:
        engine.limit(of.memory_bytes, spilled, of.threads)
        yield engine


def open_engine(
    spark: SparkSession,
    size_bytes: int | None,
    path: str,
    *,
    overwrite: bool = False,
    users_conf: Sequence[str] = (),
    parsed: tuple[str, StructType] | None = None,
) -> Engine:
    """What analyzes journals of so many bytes on this session, with results at `path`.

    The others are as in `SparkEngine`, which it is where tasks do not see this machine.
    """

    def by_sql() -> SparkEngine:
        return SparkEngine(
            spark, size_bytes, overwrite=overwrite, users_conf=users_conf, parsed=parsed
        )

    if is_connect(spark) or "://" in path or not has_embedded() or not _are_here(spark):
        return by_sql()
    small = size_bytes is not None and size_bytes <= SMALL_BYTES
    return TaskEngine(spark.sparkContext, by_sql, small=small, parsed=parsed is not None)


def _are_here(spark: SparkSession) -> bool:
    """Whether tasks run on this machine, on this Python."""
    context = spark.sparkContext
    chosen = context.getConf().get("spark.pyspark.python") or os.environ.get("PYSPARK_PYTHON")
    return is_local(context) and chosen in {None, "", sys.executable}


def _here(path: str) -> str:
    """A task may be in another folder than who asks it."""
    return str(Path(path).absolute())


class TaskEngine:
    """One analysis on a Spark context whose tasks run on this machine."""

    name = "spark"
    dialect = DUCKDB

    def __init__(
        self,
        context: SparkContext,
        by_sql: Callable[[], SparkEngine],
        *,
        small: bool = False,
        parsed: bool = False,
    ) -> None:
        """`by_sql` opens what reads lines that are elsewhere, or are `parsed` already."""
        self._context = context
        self._by_sql = by_sql
        self._small = small
        self._parsed = parsed
        self._files: dict[str, Sequence[str]] = {}
        self._rows: dict[str, pa.Table] = {}
        self._views: dict[str, str] = {}
        # Tasks run on this Python, and not on the first of the PATH.
        self._python, context.pythonExec = context.pythonExec, sys.executable

    def read(self, sources: Sequence[Source], lines_path: str) -> None:
        """Parse into Parquet; what is not on this machine Spark's own JSON reads."""
        lines_path = _here(lines_path)
        files = [(source.side, file) for source in sources for file in source.files]
        if self._parsed or any("://" in file for _, file in files):
            with closing(self._by_sql()) as engine:
                # A stream's folder may hold files of a batch that failed: Spark knows the whole.
                found = engine.written(sources, lines_path).inputFiles()
            self._files["every"] = [unquote(urlsplit(file).path) for file in found]
            return
        tasks, of = self._share(len(files))
        numbered = [(number, side, _here(file)) for number, (side, file) in enumerate(files)]
        self._context.parallelize(numbered, tasks).foreachPartition(partial(read, of, lines_path))
        self._find("every", lines_path)

    def _share(self, things: int) -> tuple[int, Share]:
        """In how many tasks so many things are done, and what each may use."""
        tasks = 1 if self._small else things
        return tasks, share(self._context.defaultParallelism, tasks)

    def _find(self, name: str, path: str) -> None:
        self._files[name] = sorted(map(str, Path(path).glob("[!._]*.parquet")))

    def define(self, name: str, sql: str) -> None:
        """A view of each task."""
        self._views[name] = sql

    def register(self, name: str, rows: pa.Table) -> None:
        """Rows that each task is sent."""
        self._rows[name] = rows

    def query(self, sql: str) -> pa.Table:
        """All rows, as the task has sent them."""
        return cast("pa.Table", self.answer([Ask(sql)])[0])

    def answer(self, asks: Sequence[Ask]) -> list[pa.Table | int]:
        """One job, with a task for each of large journals; who reads what they wrote finds it."""
        asks = [ask._replace(path=_here(ask.path)) if ask.path else ask for ask in asks]
        tasks, of = self._share(len(asks))
        work = partial(answer, of, Known(self._files, self._rows, self._views))
        answers = self._context.parallelize(asks, tasks).mapPartitions(work).collect()
        for ask in asks:
            if ask.path:
                self._find(ask.name, ask.path)
        return answers

    def put(self, rows: pa.Table, path: str) -> None:
        """Without Spark."""
        put_locally(rows, path)

    def close(self) -> None:
        """Leave the context as it was."""
        self._context.pythonExec = self._python
