"""Spark's SQL as the engine: it parses lines once and reduces them; results come over Arrow.

Called by `task_engine` where tasks do not run on this machine. It works in a session of its own
beside the user's (where Spark lets it), tuned for many small texts: as many shuffle partitions as
cores, no adaptive re-planning, and for journals of a few megabytes no compiled stages, whose
compiling takes longer than they run.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

from mockbroker.pipeline.analyze.dialect import SPARK
from mockbroker.pipeline.analyze.embedded import put_locally
from mockbroker.pipeline.analyze.engine import SMALL_BYTES
from mockbroker.pipeline.analyze.line_schema import LINE_SCHEMA
from mockbroker.pipeline.session import is_connect

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame, DataFrameReader, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamReader
    from pyspark.sql.types import StructType

    from mockbroker.pipeline.analyze.engine import Ask
    from mockbroker.pipeline.analyze.journals import Source

_ROW_GROUP_BYTES: Final = 32 << 20
"""A row group is built in memory: small ones, small heap."""
_AT_A_TIME: Final = 3
_SMALL_CONF: Final = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.shuffle.partitions": "1",
}


class SparkEngine:
    """One analysis on a Spark session."""

    name = "spark"
    dialect = SPARK

    def __init__(
        self,
        spark: SparkSession,
        size_bytes: int | None,
        *,
        overwrite: bool = False,
        users_conf: Sequence[str] = (),
        parsed: tuple[str, StructType] | None = None,
    ) -> None:
        """Settings that the user made (`users_conf`) stay.

        `parsed` is where lines are in Parquet already, and their schema.
        """
        self._parsed = parsed
        self._small = size_bytes is not None and size_bytes <= SMALL_BYTES
        self._mode = "overwrite" if overwrite else "error"
        self._own = not is_connect(spark)
        self._spark: SparkSession = spark.newSession() if self._own else spark
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
            conf["spark.sql.shuffle.partitions"] = str(users.sparkContext.defaultParallelism)
        for key, value in conf.items():
            if key in kept:
                continue
            if not self._own:
                self._before[key] = self._spark.conf.get(key, None)
            self._spark.conf.set(key, value)

    def read(self, sources: Sequence[Source], lines_path: str) -> None:
        """Parse into Parquet; every text reads the columns that it needs of that."""
        written = self.written(sources, lines_path)
        # One partition needs no exchange: a text is one task then.
        self._view("every", written.coalesce(1) if self._small else written)

    def written(self, sources: Sequence[Source], lines_path: str) -> DataFrame:
        """The lines where they lie in Parquet, parsed unless they are already."""
        if self._parsed is not None:
            lines_path, schema = self._parsed
        else:
            lines = self._lines(sources)
            schema = lines.schema
            self._write(lines.coalesce(1) if self._small else lines, lines_path)
        return self._spark.read.schema(schema).parquet(lines_path)

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

    def answer(self, asks: Sequence[Ask]) -> list[pa.Table | int]:
        """A job each, some at a time."""
        with ThreadPoolExecutor(_AT_A_TIME) as pool:
            return list(pool.map(self._answer, asks))

    def _answer(self, ask: Ask) -> pa.Table | int:
        """Spark writes it, and reads it when it is asked for more."""
        if not ask.path:
            return self.query(ask.sql)
        rows = self._sql(ask.sql)
        self._write(rows, ask.path)
        written = self._spark.read.schema(rows.schema).parquet(ask.path)
        self._view(ask.name, written)
        return int(written.count())

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
