"""Writes complete in the order of their offsets, each once."""

from __future__ import annotations

import sys

import pytest

from mockbroker.clock import Timer
from mockbroker.coordinator.deferred_writes import DeferredWrite, DeferredWrites
from mockbroker_protocol.errors import ErrorCode

NONE = ErrorCode.NONE
TIMED_OUT = ErrorCode.REQUEST_TIMED_OUT


class Bench:
    """Three writes that end at 1, 3 and 3, and what became of them."""

    def __init__(self) -> None:
        self.queue = DeferredWrites()
        self.told: list[tuple[str, ErrorCode]] = []
        self.replayed: list[str] = []
        self.writes = {
            name: self.add(name, end_offset) for name, end_offset in (("a", 1), ("b", 3), ("c", 3))
        }

    def add(self, name: str, end_offset: int) -> DeferredWrite:
        write = DeferredWrite(
            end_offset,
            lambda error: self.told.append((name, error)),
            lambda: self.replayed.append(name),
        )
        self.queue.add(write)
        return write


def test_the_high_watermark_completes_what_it_has_passed() -> None:
    bench = Bench()
    bench.queue.complete_up_to(0)
    assert (bench.told, bench.replayed) == ([], [])
    bench.queue.complete_up_to(2)
    assert (bench.told, bench.replayed) == ([("a", NONE)], ["a"])
    assert (len(bench.queue), bench.queue.last_offset) == (2, 3)
    bench.queue.complete_up_to(3)
    assert bench.replayed == ["a", "b", "c"]
    assert (len(bench.queue), bench.queue.last_offset) == (0, -1)


def test_what_timed_out_is_replayed_later_and_told_once() -> None:
    bench = Bench()
    bench.writes["a"].expire()
    assert bench.told == [("a", TIMED_OUT)]
    bench.queue.complete_up_to(3)
    assert bench.replayed == ["a", "b", "c"]
    assert bench.told == [("a", TIMED_OUT), ("b", NONE), ("c", NONE)]


def test_a_lost_partition_fails_what_waits() -> None:
    bench = Bench()
    bench.writes["b"].expire()
    bench.queue.fail_all(ErrorCode.NOT_COORDINATOR)
    bench.queue.complete_up_to(9)
    assert bench.replayed == []
    assert bench.told == [
        ("b", TIMED_OUT),
        ("a", ErrorCode.NOT_COORDINATOR),
        ("c", ErrorCode.NOT_COORDINATOR),
    ]


def test_what_is_told_cancels_the_time_out() -> None:
    bench, timer = Bench(), Timer()
    write = bench.writes["a"]
    write.timeout = timer.schedule(5, write.expire)
    bench.queue.complete_up_to(1)
    assert not len(timer)


def test_what_is_told_may_write_more() -> None:
    queue = DeferredWrites()
    told: list[str] = []

    def first(_error: ErrorCode) -> None:
        queue.add(DeferredWrite(3, lambda _error: told.append("third")))
        queue.complete_up_to(3)
        told.append("first")

    queue.add(DeferredWrite(1, first))
    queue.add(DeferredWrite(2, lambda _error: told.append("second")))
    queue.complete_up_to(2)
    assert told == ["first", "second", "third"]


def test_however_many_write_when_told_the_stack_stays_flat() -> None:
    """Many DeleteGroups wait for one write; each of them writes when it is told."""
    queue = DeferredWrites()
    told: list[int] = []

    def waiting(number: int) -> DeferredWrite:
        def write_more(_error: ErrorCode) -> None:
            queue.add(DeferredWrite(2, lambda _error: told.append(number)))
            queue.complete_up_to(2)

        return DeferredWrite(1, write_more)

    count = sys.getrecursionlimit()
    for number in range(count):
        queue.add(waiting(number))
    queue.complete_up_to(1)
    assert told == list(range(count))
    assert not len(queue)


def test_a_queue_goes_on_after_what_was_told_failed() -> None:
    queue = DeferredWrites()
    told: list[ErrorCode] = []

    def fail(_error: ErrorCode) -> None:
        raise ZeroDivisionError

    queue.add(DeferredWrite(1, fail))
    queue.add(DeferredWrite(2, told.append))
    with pytest.raises(ZeroDivisionError):
        queue.complete_up_to(2)
    queue.complete_up_to(2)
    assert told == [NONE]
