"""What a parked operation costs does not depend on how many others wait: counted, not timed.

Kafka's shape is O(1) for insert and cancel (hierarchical timing wheels, watch lists by key).
"""

from __future__ import annotations

import gc
import sys
from typing import TYPE_CHECKING

from mockbroker.clock import Timer
from mockbroker.purgatory.purgatory import DelayedOperation, Purgatory
from tests.support.operation_counts import counting

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable
    from types import FrameType

    from _typeshed import TraceFunction

FEW, MANY = 100, 1_000
SAMPLE = 20
DEADLINES = 50
"""Distinct milliseconds at which the waiting ones expire."""


class _Wait(DelayedOperation):
    """Waits for one key; complete when that was poked after `ready` was set."""

    __slots__ = ("ended", "key", "ready", "tries")

    def __init__(self, key: int, deadline_ms: float) -> None:
        super().__init__(deadline_ms)
        self.key = key
        self.ready = False
        self.ended = False
        self.tries = 0

    def try_complete(self) -> bool:
        self.tries += 1
        return self.ready and self.force_complete()

    def on_complete(self) -> None:
        self.ended = True


class _Room:
    """A purgatory with `waiting` parked operations, each on a key of its own."""

    def __init__(self, waiting: int) -> None:
        self.timer = Timer()
        self.purgatory = Purgatory(self.timer)
        self.waits = [self.park(number) for number in range(waiting)]

    def park(self, key: int) -> _Wait:
        wait = _Wait(key, 1_000.0 + key % DEADLINES)
        assert not self.purgatory.try_complete_else_watch(wait, (key,))
        return wait

    def park_more(self) -> None:
        for number in range(SAMPLE):
            self.park(MANY + number)

    def cancel_some(self) -> None:
        for wait in self.waits[:SAMPLE]:
            assert wait.cancel()

    def poke_in_vain(self) -> None:
        for wait in self.waits[SAMPLE : 2 * SAMPLE]:
            assert self.purgatory.check_and_complete(wait.key) == 0

    def wake_some(self) -> None:
        for wait in self.waits[SAMPLE : 2 * SAMPLE]:
            wait.ready = True
            assert self.purgatory.check_and_complete(wait.key) == 1


def lines_run(action: Callable[[], None]) -> int:
    """How many lines of Python `action` runs."""
    count = 0

    def trace(_frame: FrameType, event: str, _arg: object) -> TraceFunction:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    gc.disable()  # whoever is told of collections would be counted
    sys.settrace(trace)
    try:
        action()
    finally:
        sys.settrace(before)
        gc.enable()
    return count


def test_an_operation_costs_the_same_among_many() -> None:
    costs: list[list[tuple[Counter[str], int]]] = []
    for waiting in (FEW, MANY):
        room = _Room(waiting)
        costs.append([])
        for action in (room.park_more, room.cancel_some, room.poke_in_vain, room.wake_some):
            with counting(room.timer, room.purgatory) as counts:
                lines = lines_run(action)
            costs[-1].append((counts, lines))
    assert costs[0] == costs[1]
    for counts, _ in costs[1]:
        # A bucket is found, entered or left; a list is found, changed, dropped when empty.
        assert counts["timer buckets"] <= 2 * SAMPLE
        assert counts["watch lists"] <= 4 * SAMPLE
        assert counts["heap pushes"] <= SAMPLE


def test_operations_of_one_millisecond_share_one_heap_entry() -> None:
    timer = Timer()
    with counting(timer, Purgatory(timer)) as counts:
        for number in range(MANY):
            timer.schedule(1_000.0 + number % DEADLINES, _nothing)
    assert counts["heap pushes"] == DEADLINES


def test_one_poke_that_ends_all_tries_each_once() -> None:
    room = _Room(0)
    waits = [_Wait(7, 1_000.0) for _ in range(MANY)]
    for wait in waits:
        room.purgatory.try_complete_else_watch(wait, (7,))
        wait.ready = True
        wait.tries = 0
    with counting(room.timer, room.purgatory) as counts:
        assert room.purgatory.check_and_complete(7) == MANY
    assert {wait.tries for wait in waits} == {1}
    assert counts["watch lists"] <= 3 * MANY
    assert counts["timer buckets"] <= 2 * MANY


def test_expiry_visits_each_bucket_once() -> None:
    room = _Room(MANY)
    with counting(room.timer, room.purgatory) as counts:
        assert room.timer.advance(2_000.0) == MANY
    assert all(wait.ended for wait in room.waits)
    assert counts["timer buckets"] == DEADLINES
    assert counts["heap pops"] == DEADLINES


def test_cancelling_all_moves_few_heap_entries() -> None:
    timer = Timer()
    purgatory = Purgatory(timer)
    waits = [_Wait(number, float(number)) for number in range(MANY)]
    for wait in waits:
        purgatory.try_complete_else_watch(wait, (wait.key,))
    with counting(timer, purgatory) as counts:
        for wait in waits:
            wait.cancel()
    assert counts["heap entries moved"] <= MANY
    assert purgatory.purgatory_size == purgatory.watched_keys == len(timer) == 0


def _nothing() -> None:
    """An action."""
