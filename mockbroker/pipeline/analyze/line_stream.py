"""`analyze --follow` on Spark: a stream that parses what is added to journals, once.

Called by `command`. Structured Streaming knows files that come, not files that grow: `tail` makes
files of what was added, the stream reads them, and appends parsed lines to DIR/lines. Each look at
the journals is one micro-batch; what was read before costs nothing but the tables.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mockbroker.pipeline.analyze.journals import NO_LINE
from mockbroker.pipeline.analyze.spark_engine import parse, texts
from mockbroker.pipeline.analyze.tail import Tail
from mockbroker.pipeline.analyze.task_engine import open_engine
from mockbroker.pipeline.errors import PipelineError, explain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

    from mockbroker.pipeline.analyze.engine import Engine
    from mockbroker.pipeline.analyze.journals import Source

FOLLOWING: Final = "following"
"""Where DIR keeps the stream's own files as long as it runs."""


class LineStream:
    """A running stream from journals into DIR/lines. `close` ends it."""

    def __init__(self, spark: SparkSession, out: str, sides: Sequence[str]) -> None:
        self._own = Path(out, FOLLOWING).absolute()
        self._lines = Path(out, "lines").absolute()
        for left in (self._own, self._lines):
            shutil.rmtree(left, ignore_errors=True)
        self._tail = Tail(self._own / "tail")
        lines = None
        for side in sides:
            (self._tail.folder / side).mkdir(parents=True)
            part = self._of_side(spark, side)
            lines = part if lines is None else lines.unionByName(part)
        assert lines is not None
        self._schema = lines.schema
        checkpoint = str(self._own / "checkpoint")
        writer = lines.writeStream.format("parquet").option("checkpointLocation", checkpoint)
        self._query: Any = writer.outputMode("append").start(str(self._lines))

    def _of_side(self, spark: SparkSession, side: str) -> DataFrame:
        # What is hidden is not looked into: a segment that is being written.
        reader = spark.readStream.schema("value STRING").option("recursiveFileLookup", "true")
        return parse(texts(reader, str(self._tail.folder / side), side))

    def take(self, sources: Sequence[Source]) -> None:
        """Have all that is new in the journals parsed. Raises PipelineError if that fails."""
        from pyspark.errors import PySparkException

        if not self._tail.cut(sources):
            if not self._tail.segments:
                raise PipelineError(NO_LINE)
            return
        try:
            self._query.processAllAvailable()
        except PySparkException as error:
            raise PipelineError(f"--follow: {explain(error)}") from None
        self._tail.forget()

    def engine(self, spark: SparkSession, users_conf: Sequence[str]) -> Engine:
        """An engine for the lines that were taken."""
        lines = str(self._lines)
        return open_engine(
            spark, None, lines, overwrite=True, users_conf=users_conf, parsed=(lines, self._schema)
        )

    def close(self) -> None:
        """End the stream, and take its own files away."""
        self._query.stop()
        shutil.rmtree(self._own, ignore_errors=True)
        # Its log has absolute paths: without it the folder is Parquet files that may be moved.
        shutil.rmtree(self._lines / "_spark_metadata", ignore_errors=True)
