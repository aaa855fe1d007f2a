"""The progress bar of a terminal, and the lines of a log."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from mockbroker.pipeline.progress import Bar, watch

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_the_share_of_tasks_that_are_done() -> None:
    out = Terminal()
    bar = Bar("load", out)
    bar.draw(1, 2, 1, ", 3.0 MB read")
    assert "load:  50%" in out.getvalue()
    assert "1/2" in out.getvalue()
    assert "1 running, 3.0 MB read" in out.getvalue()
    bar.clear()
    assert out.getvalue().endswith("\r")
    assert out.getvalue().rsplit("\r", 2)[1].strip() == ""


def test_elsewhere_a_line_comes_every_ten_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("mockbroker.pipeline.progress.time.monotonic", lambda: now)
    out = io.StringIO()
    bar = Bar("load", out)
    for now in (100.0, 109.0, 110.0, 115.0, 121.5):
        bar.draw(int(now) - 100, 40, 2)
    bar.clear()
    assert out.getvalue().splitlines() == [
        "load: 10/40 tasks, 2 running, 10 s",
        "load: 21/40 tasks, 2 running, 22 s",
    ]


def test_nothing_is_drawn_unasked() -> None:
    out = Terminal()
    bar = Bar("load", out, wanted=False)
    bar.draw(1, 2, 1)
    bar.clear()
    assert out.getvalue() == ""


def test_a_connect_server_feeds_the_same_bar() -> None:
    handlers: list[Callable[..., None]] = []
    body = {
        "__module__": "pyspark.sql.connect.session",
        "registerProgressHandler": staticmethod(handlers.append),
        "removeProgressHandler": staticmethod(handlers.remove),
    }
    session = type("Session", (), body)()
    out = Terminal()
    with watch(session, Bar("dump", out)):
        stage = SimpleNamespace(num_tasks=4, num_completed_tasks=3, num_bytes_read=2_000_000)
        handlers[0](stages=[stage], inflight_tasks=1, operation_id="one", done=False)
    assert "1 running" in out.getvalue()
    assert "3/4" in out.getvalue()
    assert "2.0 MB read" in out.getvalue()
    assert handlers == []


@pytest.mark.spark
def test_sparks_status_tracker_feeds_it(spark: SparkSession) -> None:
    from pyspark.sql import functions as F  # noqa: N812

    out = Terminal()
    pause = F.java_method(F.lit("java.lang.Thread"), F.lit("sleep"), F.lit(60).cast("bigint"))
    with watch(spark, Bar("load", out)):
        spark.range(0, 12, 1, 6).select(pause).write.format("noop").mode("overwrite").save()
    assert "/6 [" in out.getvalue()
