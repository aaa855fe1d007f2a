"""A progress bar fed by Spark's own status tracker; started by `command` around each job.

`watch` looks ten times a second from a thread of its own, and draws only on a terminal. Over Spark
Connect, where there is no status tracker, the server's progress reports feed the same bar.
"""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Protocol, TextIO

from mockbroker.pipeline.summary import human_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pyspark.sql import SparkSession

INTERVAL_SECONDS: Final = 0.1
BAR_CHARS: Final = 30


class StageInfo(Protocol):
    """What Spark Connect tells of a stage."""

    num_tasks: int
    num_completed_tasks: int
    num_bytes_read: int


def render(label: str, done: int, total: int, active: int, seconds: float) -> str:
    """One line: how many of the tasks known by now are done."""
    share = done / total if total else 0.0
    filled = int(share * BAR_CHARS)
    bar = "#" * filled + "." * (BAR_CHARS - filled)
    return f"{label} [{bar}] {done}/{total} tasks, {active} running, {seconds:.0f} s"


class Bar:
    """Draws over its own line on a terminal; elsewhere it draws nothing."""

    def __init__(self, label: str, stream: TextIO, *, wanted: bool = True) -> None:
        self._label = label
        self._stream = stream
        self._started = time.monotonic()
        self._width = 0
        self.shown = wanted and stream.isatty()

    def draw(self, done: int, total: int, active: int, note: str = "") -> None:
        """Show these counts."""
        if not self.shown:
            return
        line = render(self._label, done, total, active, time.monotonic() - self._started)
        line = f"{line}{note}"
        self._stream.write("\r" + line.ljust(self._width))
        self._stream.flush()
        self._width = len(line)

    def clear(self) -> None:
        """Leave an empty line."""
        if self._width:
            self._stream.write("\r" + " " * self._width + "\r")
            self._stream.flush()


@contextmanager
def watch(spark: SparkSession, bar: Bar) -> Iterator[None]:
    """Keep the bar fed while the block runs."""
    if not bar.shown:
        yield
        return
    stop = _watch_connect(spark, bar) if _is_connect(spark) else _watch_classic(spark, bar)
    try:
        yield
    finally:
        stop()
        bar.clear()


def _is_connect(spark: SparkSession) -> bool:
    return "connect" in type(spark).__module__


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
    def handle(stages: Iterable[StageInfo] | None, inflight_tasks: int, *_: object) -> None:
        listed = list(stages or ())
        total = sum(stage.num_tasks for stage in listed)
        done = sum(stage.num_completed_tasks for stage in listed)
        read = sum(stage.num_bytes_read for stage in listed)
        bar.draw(done, total, inflight_tasks, f", {human_bytes(read)} read")

    spark.registerProgressHandler(handle)
    return lambda: spark.removeProgressHandler(handle)
