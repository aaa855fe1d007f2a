"""The streams of dump: rows counted as they pass, and a query run until there is no more, or on.

Called by `dump`. Spark keeps the progress of the last hundred batches alone, so it is looked at
once a second while the query runs. With `follow` the query ends by Ctrl-C or SIGTERM, between two
looks; what a batch had not committed is taken by the next run.
"""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, cast

from pyspark.sql import functions as F  # noqa: N812 -- its name everywhere

from mockbroker.pipeline.records import size_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import DataFrame, Row
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

NAME: Final = "dump"
LOOK_SECONDS: Final = 1
_UNTOLD: Final = 'because the return value of "scala.Option.get()" is null'
"""What PySpark 4.1's connector fails with after a batch that a killed run had begun: the batch is
committed, and it cannot tell how far behind it is."""


def observed_rows(records: DataFrame) -> DataFrame:
    """The records, counted with their bytes in each batch."""
    return records.observe(
        NAME, F.count(F.lit(1)).alias("rows"), F.sum(size_bytes()).alias("bytes")
    )


def run_query(writer: DataStreamWriter, follow: float | None) -> Counted:
    """All batches. `follow` None: what is there now, and an end."""
    if follow is None:
        writer = writer.trigger(availableNow=True)
    else:
        writer = writer.trigger(processingTime=f"{round(follow * 1000)} milliseconds")
    counted = Counted()
    with _told_to_end() as told:
        while not _run(writer.start(), counted, told if follow is not None else None):
            counted.lacks_a_batch = True
    return counted


def _run(query: StreamingQuery, counted: Counted, told: threading.Event | None) -> bool:
    """Count until the query has ended, or was told to; False where it is to be begun again."""
    from pyspark.errors import StreamingQueryException

    try:
        while not query.awaitTermination(LOOK_SECONDS):
            counted.look(query)
            if told is not None and told.is_set():
                query.stop()
                break
    except StreamingQueryException as error:
        counted.look(query)
        if counted.lacks_a_batch or _UNTOLD not in str(error):
            raise
        return False
    counted.look(query)
    return True


class Counted:
    """What batches counted, each once, by their numbers."""

    def __init__(self) -> None:
        self.rows = self.bytes = 0
        self.lacks_a_batch = False
        """A batch that a killed run had begun is there, and was not counted."""
        self._last = -1

    def look(self, query: StreamingQuery) -> None:
        """Add the batches that ended since the last look."""
        for progress in query.recentProgress:
            batch, metrics = _progress(progress)
            if metrics is not None and batch > self._last:
                self._last = batch
                rows, size = observed(metrics)
                self.rows += rows
                self.bytes += size


def _progress(progress: Any) -> tuple[int, Row | Mapping[str, Any] | None]:  # noqa: ANN401
    if isinstance(progress, dict):  # PySpark 3.5, which leaves out what a batch has none of
        return int(progress["batchId"]), progress.get("observedMetrics", {}).get(NAME)
    return int(progress.batchId), progress.observedMetrics.get(NAME)


def observed(metrics: Row | Mapping[str, Any]) -> tuple[int, int]:
    """Rows and bytes of one batch. Over Connect the row stands in a field named `values`.

    PySpark 3.5 tells them as objects of JSON.
    """
    if isinstance(metrics, dict):
        return int(metrics["rows"] or 0), int(metrics["bytes"] or 0)
    found = cast("Any", metrics["values"] if "values" in metrics else list(metrics))
    rows, size = found or (0, 0)
    return int(rows or 0), int(size or 0)


@contextmanager
def _told_to_end() -> Iterator[threading.Event]:
    """Set by Ctrl-C and SIGTERM while it is open; only the main thread can be told."""
    told = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield told
        return
    before = {
        number: signal.signal(number, lambda *_: told.set())
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield told
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
