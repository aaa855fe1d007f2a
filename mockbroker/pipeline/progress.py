"""How far a job is, from Spark's own status tracker; started by `command` around each job.

`watch` looks ten times a second from a thread of its own. Over Spark Connect, where there is no
status tracker, the server's progress reports feed the same bar.
"""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Protocol, TextIO

from mockbroker.pipeline.session import is_connect
from mockbroker.pipeline.summary import human_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pyspark.sql import SparkSession

INTERVAL_SECONDS: Final = 0.1
LINE_SECONDS: Final = 10.0


class StageInfo(Protocol):
    """What Spark Connect tells of a stage."""

    num_tasks: int
    num_completed_tasks: int
    num_bytes_read: int


class Bar:
    """A bar on a terminal; elsewhere a line every ten seconds, as a log wants it.

    With `wanted=False` it draws nothing. `clear` takes a bar away; lines stay.
    """

    def __init__(self, label: str, stream: TextIO, *, wanted: bool = True) -> None:
        self._label = label
        self._stream = stream
        self._started = self._last_line = time.monotonic()
        self.shown = wanted
        self._bar: Any = None
        if wanted and stream.isatty():
            # Imported for a terminal alone: the Python of a cluster's driver may not have it.
            from tqdm import tqdm

            self._bar = tqdm(
                desc=label, total=0, unit="task", file=stream, leave=False, dynamic_ncols=True
            )

    def draw(self, done: int, total: int, active: int, note: str = "") -> None:
        """Show how many of the tasks known by now are done, and how many run."""
        if not self.shown:
            return
        note = f"{active} running{note}"
        if self._bar is not None:
            self._bar.total, self._bar.n = total, done
            self._bar.set_postfix_str(note)
        elif time.monotonic() - self._last_line >= LINE_SECONDS:
            self._last_line = time.monotonic()
            seconds = self._last_line - self._started
            print(
                f"{self._label}: {done}/{total} tasks, {note}, {seconds:.0f} s",
                file=self._stream,
                flush=True,
            )

    def clear(self) -> None:
        """Leave an empty line."""
        if self._bar is not None:
            self._bar.close()


@contextmanager
def watch(spark: SparkSession, bar: Bar) -> Iterator[None]:
    """Keep the bar fed while the block runs."""
    if not bar.shown:
        yield
        return
    stop = _watch_connect(spark, bar) if is_connect(spark) else _watch_classic(spark, bar)
    try:
        yield
    finally:
        stop()
        bar.clear()


def _watch_classic(spark: SparkSession, bar: Bar) -> Callable[[], None]:
    tracker = spark.sparkContext.statusTracker()
    ended = threading.Event()
    seen: dict[int, tuple[int, int]] = {}

    def look() -> None:
        while not ended.wait(INTERVAL_SECONDS):
            active = 0
            for stage in tracker.getActiveStageIds():
                info = tracker.getStageInfo(stage)
                if info is not None:
                    seen[stage] = (info.numCompletedTasks, info.numTasks)
                    active += info.numActiveTasks
            # A stage that is seen no more has ended.
            live = set(tracker.getActiveStageIds())
            for stage, (_, tasks) in list(seen.items()):
                if stage not in live:
                    seen[stage] = (tasks, tasks)
            bar.draw(
                sum(done for done, _ in seen.values()), sum(n for _, n in seen.values()), active
            )

    thread = threading.Thread(target=look, name="pipeline-progress", daemon=True)
    thread.start()

    def stop() -> None:
        ended.set()
        thread.join()

    return stop


def _watch_connect(spark: SparkSession, bar: Bar) -> Callable[[], None]:
    # Spark calls it by these names (pyspark.sql.connect.shell.progress.ProgressHandler).
    def handle(
        stages: Iterable[StageInfo] | None,
        inflight_tasks: int,
        operation_id: str | None,  # noqa: ARG001
        done: bool,  # noqa: ARG001
    ) -> None:
        listed = list(stages or ())
        total = sum(stage.num_tasks for stage in listed)
        completed = sum(stage.num_completed_tasks for stage in listed)
        read = sum(stage.num_bytes_read for stage in listed)
        bar.draw(completed, total, inflight_tasks, f", {human_bytes(read)} read")

    spark.registerProgressHandler(handle)
    return lambda: spark.removeProgressHandler(handle)
