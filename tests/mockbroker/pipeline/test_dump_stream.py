"""Streams of dump: what batches counted, each once, and one that ends when it is told to."""

from __future__ import annotations

import os
import signal
from typing import Any, Self

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import Row

from mockbroker.pipeline.dump_stream import observed, run_query


def test_what_a_stream_counted_is_read_in_both_of_its_forms() -> None:
    assert observed(Row(rows=3, bytes=None)) == (3, 0)
    assert observed(Row(rows=3, bytes=7)) == (3, 7)
    assert observed({"rows": 3, "bytes": None}) == (3, 0)
    assert observed(Row(values=[3, 7], schema={"type": "struct"})) == (3, 7)
    assert observed(Row(values=[], schema={"type": "struct"})) == (0, 0)


class Stream:
    """A writer and its query: a batch of two rows at each look, then an empty one; a SIGTERM."""

    def __init__(self) -> None:
        self.recentProgress: list[dict[str, Any]] = []
        self.trigger_given: dict[str, Any] = {}
        self.stopped = False

    def trigger(self, **given: Any) -> Self:
        self.trigger_given = given
        return self

    def start(self) -> Self:
        return self

    def awaitTermination(self, _seconds: int) -> bool:  # noqa: N802 -- PySpark's name
        number = len(self.recentProgress) // 2
        told = {"dump": {"rows": 2, "bytes": 5}}
        self.recentProgress += [
            {"batchId": 2 * number, "observedMetrics": told},
            {"batchId": 2 * number + 1},
        ]
        if number == 2:
            os.kill(os.getpid(), signal.SIGTERM)
        return number > 5

    def stop(self) -> None:
        self.stopped = True


def test_a_stream_that_follows_ends_by_sigterm_and_counts_each_batch_once() -> None:
    stream: Any = Stream()
    before = signal.getsignal(signal.SIGTERM)
    counted = run_query(stream, 0.2)
    assert (counted.rows, counted.bytes, counted.lacks_a_batch) == (6, 15, False)
    assert (stream.stopped, stream.trigger_given) == (True, {"processingTime": "200 milliseconds"})
    assert signal.getsignal(signal.SIGTERM) is before


UNTOLD = 'Cannot invoke "map(Function1)" because the return value of "scala.Option.get()" is null'


class Untold(Stream):
    """Its query ends so often by an error, before it goes on."""

    def __init__(self, *errors: str) -> None:
        super().__init__()
        self.errors = list(errors)

    def awaitTermination(self, _seconds: int) -> bool:  # noqa: N802 -- PySpark's name
        if self.errors:
            raise StreamingQueryException(self.errors.pop(0))
        self.recentProgress.append(
            {"batchId": 1, "observedMetrics": {"dump": {"rows": 2, "bytes": 5}}}
        )
        return True


def test_a_batch_that_was_done_again_and_cannot_be_told_of_ends_no_dump() -> None:
    stream: Any = Untold(UNTOLD)
    counted = run_query(stream, None)
    assert (counted.rows, counted.bytes, counted.lacks_a_batch) == (2, 5, True)
    for errors in ((UNTOLD, UNTOLD), ("no space left",)):
        stream = Untold(*errors)
        with pytest.raises(StreamingQueryException, match=errors[-1].partition("(")[0]):
            run_query(stream, None)
        assert stream.errors == []
