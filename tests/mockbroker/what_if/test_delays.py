"""When a reader knows of what moved."""

from __future__ import annotations

from mockbroker.what_if.costs import Histogram
from mockbroker.what_if.delays import Moves, Reached


def test_each_move_is_known_once() -> None:
    moves, delays = Moves(), Histogram()
    reached = Reached(moves, delays)
    moves.note(1, 10.0)
    moves.note(2, 20.0)
    reached.note(1, 10.0)
    reached.note(1, 15.0)
    assert delays.buckets == {-1: 1}
    reached.note(5, 30.0)
    assert delays.count == 2


def test_a_move_back_is_none() -> None:
    moves = Moves()
    moves.note(5, 1.0)
    moves.note(5, 2.0)
    moves.note(4, 3.0)
    assert moves.offsets == [5]


def test_what_moved_before_a_reader_was_heard_is_no_delay_of_one_that_was_there_before() -> None:
    moves, delays = Moves(), Histogram()
    moves.note(1, 0.0)
    reached = Reached(moves, delays, from_start=False)
    reached.note(1, 100.0)
    assert delays.count == 0
    moves.note(2, 110.0)
    reached.note(2, 110.0)
    assert delays.count == 1
