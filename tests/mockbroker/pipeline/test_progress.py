"""The progress bar: what a line says, and that it is drawn on a terminal only."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from mockbroker.pipeline.progress import Bar, render, watch

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_bar_is_the_share_of_tasks_that_are_done() -> None:
    assert render("load", 1, 2, 1, 3.2) == f"load [{'#' * 15}{'.' * 15}] 1/2 tasks, 1 running, 3 s"
    assert render("load", 0, 0, 0, 0).startswith(f"load [{'.' * 30}] 0/0")


def test_a_shorter_line_covers_the_longer_one_and_clear_leaves_nothing() -> None:
    out = Terminal()
    bar = Bar("load", out)
    bar.draw(1, 10, 2, ", a long note")
    bar.draw(2, 10, 2)
    bar.clear()
    first, second, blank, end = out.getvalue().split("\r")[1:]
    assert len(first) == len(second)
    assert (blank.strip(), end) == ("", "")


@pytest.mark.parametrize(("stream", "wanted"), [(io.StringIO(), True), (Terminal(), False)])
def test_nothing_is_drawn_elsewhere(stream: io.StringIO, wanted: bool) -> None:
    bar = Bar("load", stream, wanted=wanted)
    bar.draw(1, 2, 1)
    bar.clear()
    assert stream.getvalue() == ""


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
        handlers[0]([stage], 1, "operation", False)
    assert "3/4 tasks, 1 running" in out.getvalue()
    assert "2.0 MB read" in out.getvalue()
    assert handlers == []


@pytest.mark.spark
def test_sparks_status_tracker_feeds_it(spark: SparkSession) -> None:
    from pyspark.sql import functions as F  # noqa: N812

    out = Terminal()
    pause = F.java_method(F.lit("java.lang.Thread"), F.lit("sleep"), F.lit(60).cast("bigint"))
    with watch(spark, Bar("load", out)):
        spark.range(0, 12, 1, 6).select(pause).write.format("noop").mode("overwrite").save()
    assert "/6 tasks" in out.getvalue()
