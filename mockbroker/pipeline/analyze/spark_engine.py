"""Spark as the engine: it parses the lines once and reduces them; small results come over Arrow.

Called by `job`. It works in a session of its own beside the user's (where Spark lets it), tuned for
many small texts: as many shuffle partitions as cores, no adaptive re-planning, and for journals of
a few megabytes no compiled stages, whose compiling takes longer than they run. Where its tasks run
on this machine, with this Python, most lines are read by `quick_lines` in them, and the rest by
Spark's own JSON, which takes more than twice as long.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from mockbroker.pipeline.analyze import one_broker, quick_lines, quick_parts
from mockbroker.pipeline.analyze.dialect import SPARK
from mockbroker.pipeline.analyze.embedded import put_locally
from mockbroker.pipeline.analyze.engine import SMALL_BYTES, has_embedded
from mockbroker.pipeline.analyze.line_schema import LINE_SCHEMA

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame, DataFrameReader, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamReader
    from pyspark.sql.types import StructType

    from mockbroker.pipeline.analyze.journals import Source

_ROW_GROUP_BYTES: Final = 32 << 20
"""A row group is built in memory: small ones, small heap."""
_SMALL_CONF: Final = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.shuffle.partitions": "1",
}


class SparkEngine:
    """One analysis on a Spark session."""

    name = "spark"
    dialect = SPARK
    at_a_time = 3

    def __init__(
        self,
        spark: SparkSession,
        size_bytes: int | None,
        *,
        overwrite: bool = False,
        users_conf: Sequence[str] = (),
    ) -> None:
        """Settings that the user made (`users_conf`) stay."""
        self._small = size_bytes is not None and size_bytes <= SMALL_BYTES
        self._mode = "overwrite" if overwrite else "error"
        self._own = not _is_connect(spark)
        self._spark: SparkSession = spark.newSession() if self._own else spark
        self.parted: frozenset[str] = frozenset()
        self._local_lines = ""
        self._parallelism = 1
        self._starts: list[dict[str, Any]] = []
        self._views: list[str] = []
        self._before: dict[str, str | None] = {}
        self._tune(spark, users_conf)

    def _tune(self, users: SparkSession, kept: Sequence[str]) -> None:
        conf = {
            "spark.sql.adaptive.enabled": "false",
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.execution.arrow.pyspark.enabled": "true",
        }
        if self._small:
            conf |= _SMALL_CONF
        elif self._own:
            self._parallelism = users.sparkContext.defaultParallelism
            conf["spark.sql.shuffle.partitions"] = str(self._parallelism)
        for key, value in conf.items():
            if key in kept:
                continue
            if not self._own:
                self._before[key] = self._spark.conf.get(key, None)
            self._spark.conf.set(key, value)

    def read(self, sources: Sequence[Source], lines_path: str) -> None:
        """Parse into Parquet; every text reads the columns that it needs of that."""
        pieces = quick_lines.pieces(sources) if self._reads_here(lines_path) else []
        if not pieces:
            lines = self._lines(sources)
            self._write(lines.coalesce(1) if self._small else lines, lines_path)
        elif self._small:
            # To start a worker takes longer than to read them.
            texts_left = quick_lines.read_all(pieces, lines_path)
            lines = parse(self._frame(texts_left).coalesce(1))
            parsed = arrow_rows(lines)
            put_locally(parsed, lines_path)
            self._look_at_parts(lines_path, set(parsed["api"].to_pylist()))
        else:
            lines = parse(self._read_in_tasks(pieces, lines_path))
            self._write(lines, lines_path)
            others = self._spark.read.schema(lines.schema).parquet(f"{lines_path}/part-*")
            found = others.where("api IS NOT NULL").select("api").distinct()
            self._look_at_parts(lines_path, {row.api for row in found.collect()})
        self.look(lines_path, lines.schema)
        self._local_lines = lines_path if pieces else ""

    def _look_at_parts(self, lines_path: str, parsed: set[str]) -> None:
        """Define what requests list, but of APIs of which the engine `parsed` any."""
        from pyspark.sql.pandas.types import from_arrow_schema

        for api, view in quick_parts.OF_APIS.items():
            folder = quick_parts.folder_of(lines_path) / view
            if api not in parsed and folder.is_dir():
                columns = from_arrow_schema(quick_parts.schema_of(api))
                parts = self._spark.read.schema(columns).parquet(str(folder))
                self._view(view, parts.coalesce(1) if self._small else parts)
                self.parted |= {view}

    def _reads_here(self, lines_path: str) -> bool:
        """Whether tasks see this machine's files, with this Python and its libraries."""
        if not self._own or "://" in lines_path:
            return False
        # PySpark asks for it where a task has Arrow.
        if not self._small and find_spec("pandas") is None:
            return False
        context = self._spark.sparkContext
        chosen = context.getConf().get("spark.pyspark.python") or os.environ.get("PYSPARK_PYTHON")
        return str(context.master).startswith("local") and chosen in {None, "", sys.executable}

    def _read_in_tasks(self, pieces: Sequence[quick_lines.Piece], lines_path: str) -> DataFrame:
        """A task for each piece, which writes most of its lines; the others."""

        def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                for number in batch.column(0).to_pylist():
                    yield from quick_lines.read_piece(pieces, number, lines_path)

        numbers = self._spark.range(0, len(pieces), 1, len(pieces))
        with _this_python(self._spark):
            return numbers.mapInArrow(work, quick_lines.OTHERS_DDL)

    def look(self, lines_path: str, schema: StructType) -> None:
        """Define `every` as the lines that were written there."""
        written = self._spark.read.schema(schema).parquet(lines_path)
        # One partition needs no exchange: a text is one task then.
        self._view("every", written.coalesce(1) if self._small else written)

    def _lines(self, sources: Sequence[Source]) -> DataFrame:
        reader = self._spark.read.option("recursiveFileLookup", "true")
        lines = None
        for source in sources:
            if source.files:
                part = parse(texts(reader, list(source.files), source.side))
                lines = part if lines is None else lines.unionByName(part)
        assert lines is not None
        return lines

    def define(self, name: str, sql: str) -> None:
        """A temporary view."""
        self._view(name, self._sql(sql))

    def register(self, name: str, rows: pa.Table) -> None:
        """Rows that are here, as a relation of the plan."""
        if name == "run_starts":
            self._starts = rows.to_pylist()
        self._view(name, self._frame(rows))

    def _frame(self, rows: pa.Table) -> DataFrame:
        from pyspark.sql import DataFrame
        from pyspark.sql.pandas.types import from_arrow_schema

        session: Any = self._spark
        if hasattr(DataFrame, "toArrow"):
            made: DataFrame = session.createDataFrame(rows)
            return made
        # PySpark 3.5 takes no Arrow: they go through a worker, which has to start.
        columns = rows.to_pydict().values()
        return self._spark.createDataFrame(
            list(zip(*columns, strict=True)), from_arrow_schema(rows.schema)
        )

    def query(self, sql: str) -> pa.Table:
        """All rows over Arrow."""
        return arrow_rows(self._sql(sql))

    def store(self, name: str, sql: str, path: str, *, of_broker: bool = False) -> int:
        """Spark writes it, and reads it when it is asked for more."""
        rows = self._sql(sql)
        if of_broker and self._local_lines and has_embedded():
            count = self._make_in_tasks(sql, path)
        else:
            self._write(rows, path)
            count = None
        written = self._spark.read.schema(rows.schema).parquet(path)
        self._view(name, written)
        return int(written.count()) if count is None else count

    def _make_in_tasks(self, sql: str, path: str) -> int:
        """Have tasks write what is of one broker, each that of some; how many rows there are."""
        found = self._sql(f"SELECT DISTINCT {one_broker.KEYS} FROM requests ORDER BY 1, 2, 3")
        tasks = one_broker.shares(arrow_rows(found).to_pylist(), self._parallelism)
        share = one_broker.Share(sql, self._local_lines, path, self._starts)

        def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            import pyarrow as pa

            for batch in batches:
                for number in batch.column(0).to_pylist():
                    count = one_broker.make(share, tasks[number], number)
                    yield pa.RecordBatch.from_arrays([pa.array([count])], ["count"])

        numbers = self._spark.range(0, len(tasks), 1, len(tasks))
        with _this_python(self._spark):
            made = numbers.mapInArrow(work, "count BIGINT").collect()
        return sum(row["count"] for row in made)

    def put(self, rows: pa.Table, path: str) -> None:
        """Where the path is this machine's, without Spark."""
        if "://" in path:
            self._write(self._frame(rows).coalesce(1), path)
        else:
            put_locally(rows, path)

    def close(self) -> None:
        """Take the views away, and what was set in a session that is not ours."""
        for name in self._views:
            self._spark.catalog.dropTempView(name)
        for key, value in self._before.items():
            if value is None:
                self._spark.conf.unset(key)
            else:
                self._spark.conf.set(key, value)

    def _sql(self, sql: str) -> DataFrame:
        # The one thing in the texts that Spark's grammar has in another form.
        return self._spark.sql(sql.replace(" IGNORE NULLS)", ", true)"))

    def _view(self, name: str, rows: DataFrame) -> None:
        rows.createOrReplaceTempView(name)
        self._views.append(name)

    def _write(self, rows: DataFrame, path: str) -> None:
        writer = rows.write.mode(self._mode)
        writer.option("parquet.block.size", _ROW_GROUP_BYTES).parquet(path)


def texts(
    reader: DataFrameReader | DataStreamReader,
    files: Any,  # noqa: ANN401
    side: str,
) -> DataFrame:
    """Lines of files as `value`, with `side` and the names of their files, `journal`."""
    from pyspark.sql import functions as F  # noqa: N812 -- its name everywhere

    journal = F.col("_metadata.file_name").alias("journal")
    return reader.text(files).select(F.lit(side).alias("side"), journal, F.col("value"))


def parse(text: DataFrame) -> DataFrame:
    """Texts in `value` to side, journal, raw and all fields."""
    from pyspark.sql import functions as F  # noqa: N812 -- its name everywhere

    parsed = F.from_json(
        "value",
        f"{LINE_SCHEMA}, _unread STRING",
        {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "_unread"},
    )
    line = text.where(F.trim("value") != "").select("*", parsed.alias("line"))
    bad = (
        F.col("line._unread").isNotNull()
        | F.col("line.schema").isNull()
        | F.col("line.kind").isNull()
        | F.col("line.run").isNull()
        | F.col("line.seq").isNull()
        | F.col("line.at_ms").isNull()
    )
    flagged = line.withColumn("line", F.when(~bad, F.col("line")))
    return flagged.select(
        "side",
        "journal",
        F.when(F.col("line").isNull(), F.col("value")).alias("raw"),
        "line.*",
    ).drop("_unread")


@contextmanager
def _this_python(spark: SparkSession) -> Iterator[None]:
    """Have what is defined meanwhile run on this Python, and not on the first of the PATH."""
    context = spark.sparkContext
    before, context.pythonExec = context.pythonExec, sys.executable
    try:
        yield
    finally:
        context.pythonExec = before


def arrow_rows(rows: DataFrame) -> pa.Table:
    """All rows as Arrow: `toArrow` from PySpark 4 on, and its forerunner before."""
    import pyarrow as pa

    frame: Any = rows
    if hasattr(frame, "toArrow"):
        return frame.toArrow()
    batches = frame._collect_as_arrow()  # noqa: SLF001 -- PySpark 3.5 has no other
    if batches:
        return pa.Table.from_batches(batches)
    from pyspark.sql.pandas.types import to_arrow_schema

    return to_arrow_schema(rows.schema).empty_table()


def _is_connect(spark: SparkSession) -> bool:
    return "connect" in type(spark).__module__
