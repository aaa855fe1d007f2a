"""The timer: never early, in order, cheap to cancel."""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockbroker.clock import Clock, Timer, TimerTask


def test_wall_time_is_epoch_plus_now_in_whole_milliseconds() -> None:
    clock = Clock(epoch_ms=1_700_000_000_000)
    clock.now_ms = 12.9
    assert clock.wall_ms() == 1_700_000_000_012


def test_runs_due_actions_in_order_of_deadline_then_age() -> None:
    timer = Timer()
    ran: list[str] = []
    for name, deadline in (("c", 20), ("a", 10), ("d", 20), ("b", 10), ("e", 30)):
        timer.schedule(deadline, partial(ran.append, name))
    assert timer.advance(20) == 4
    assert ran == ["a", "b", "c", "d"]
    assert len(timer) == 1


def test_is_never_early_and_at_most_a_millisecond_late() -> None:
    timer = Timer()
    ran: list[int] = []
    timer.schedule(10.2, partial(ran.append, 1))
    assert timer.next_deadline() == 11.0
    assert timer.advance(10.9) == 0
    assert timer.advance(11.0) == 1


def test_next_deadline_skips_what_was_cancelled() -> None:
    timer = Timer()
    first = timer.schedule(5, lambda: None)
    timer.schedule(9, lambda: None)
    assert timer.next_deadline() == 5.0
    assert first.cancel()
    assert not first.cancel()
    assert timer.next_deadline() == 9.0
    timer.advance(9)
    assert timer.next_deadline() is None


def test_an_action_can_cancel_one_that_is_due_in_the_same_advance() -> None:
    timer = Timer()
    ran: list[str] = []
    victims: list[TimerTask] = []

    def cancel_victims() -> None:
        ran.append("first")
        assert all(task.cancel() for task in victims)

    timer.schedule(5, cancel_victims)
    victims.append(timer.schedule(5, partial(ran.append, "same bucket")))
    victims.append(timer.schedule(7, partial(ran.append, "later bucket")))
    assert timer.advance(10) == 1
    assert ran == ["first"]
    assert len(timer) == 0


def test_what_an_action_schedules_waits_for_the_next_advance() -> None:
    timer = Timer()
    ran: list[int] = []

    def renew() -> None:
        ran.append(1)
        timer.schedule(0, renew)

    timer.schedule(3, renew)
    assert timer.advance(10) == 1
    assert timer.next_deadline() == 0.0
    assert timer.advance(10) == 1
    assert ran == [1, 1]


def test_a_task_that_runs_is_no_longer_pending() -> None:
    timer = Timer()
    cancelled: list[bool] = []
    task = timer.schedule(1, lambda: cancelled.append(task.cancel()))
    assert task.pending
    timer.advance(1)
    assert cancelled == [False]
    assert not task.pending


def test_a_thousand_cancelled_tasks_leave_nothing() -> None:
    timer = Timer()
    tasks = [timer.schedule(deadline, lambda: None) for deadline in range(1_000)]
    for task in tasks:
        task.cancel()
    assert len(timer) == 0
    assert not timer._buckets
    assert len(timer._heap) <= 64
    assert timer.next_deadline() is None


def test_parking_and_cancelling_for_ever_keeps_the_heap_small() -> None:
    timer = Timer()
    for now in range(1_000):
        timer.schedule(now + 500, lambda: None).cancel()
    assert len(timer._heap) <= 66


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("schedule"), st.floats(0, 50)),
            st.tuples(st.just("cancel"), st.integers(0, 30)),
            st.tuples(st.just("advance"), st.floats(0, 10)),
        ),
        max_size=60,
    )
)
def test_behaves_as_a_sorted_list(steps: list[tuple[str, float]]) -> None:
    timer = Timer()
    now = 0.0
    ran: list[int] = []
    model: dict[int, float] = {}
    tasks: list[TimerTask] = []
    for verb, argument in steps:
        if verb == "schedule":
            number = len(tasks)
            tasks.append(timer.schedule(now + argument, partial(ran.append, number)))
            model[number] = now + argument
        elif verb == "cancel" and tasks:
            number = int(argument) % len(tasks)
            assert tasks[number].cancel() == (model.pop(number, None) is not None)
        elif verb == "advance":
            now += argument
            ran.clear()
            timer.advance(now)
            due = [n for n in model if -(-model[n] // 1) <= now]
            assert ran == sorted(due, key=lambda n: (-(-model[n] // 1), n))
            for number in due:
                del model[number]
        assert len(timer) == len(model)
        expected = min((-(-at // 1) for at in model.values()), default=None)
        assert timer.next_deadline() == expected


def test_what_is_due_behind_a_failing_action_stays_due() -> None:
    timer = Timer()
    ran: list[str] = []

    def fail() -> None:
        timer.schedule(5, partial(ran.append, "younger"))
        raise ZeroDivisionError

    timer.schedule(5, fail)
    timer.schedule(5, partial(ran.append, "same millisecond"))
    timer.schedule(6, partial(ran.append, "later"))
    with pytest.raises(ZeroDivisionError):
        timer.advance(10)
    assert ran == []
    assert (len(timer), timer.next_deadline()) == (3, 5.0)
    assert timer.advance(10) == 3
    assert ran == ["same millisecond", "younger", "later"]
    assert timer.next_deadline() is None


def test_a_task_that_is_moved_runs_then_and_behind_what_was_there() -> None:
    timer = Timer()
    ran: list[str] = []
    moved = timer.schedule(10, partial(ran.append, "moved"))
    timer.schedule(20, partial(ran.append, "there"))
    timer.move(moved, 19.5)
    assert (len(timer), timer.next_deadline()) == (2, 20)
    assert timer.advance(19) == 0
    assert timer.advance(20) == 2
    assert ran == ["there", "moved"]


def test_the_next_deadline_beside_some_tasks_is_that_of_the_others() -> None:
    timer = Timer()
    first, second = (timer.schedule(at, lambda: None) for at in (10, 30))
    timer.schedule(30, lambda: None)
    assert timer.next_deadline(beside={first}) == 30
    assert timer.next_deadline(beside={first, second}) == 30
    timer.schedule(25, lambda: None)
    assert timer.next_deadline(beside={first}) == 25
    assert timer.next_deadline(beside=()) == 10
