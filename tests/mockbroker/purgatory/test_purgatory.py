"""Watch, poke, expire, cancel: the cases of Kafka's DelayedOperationTest and ours."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockbroker.clock import Timer
from mockbroker.purgatory.purgatory import DelayedOperation, Purgatory


class _Operation(DelayedOperation):
    __slots__ = ("completable", "completions", "expirations", "log", "name", "tries")

    def __init__(
        self, name: str = "", deadline_ms: float = 1000, log: list[str] | None = None
    ) -> None:
        super().__init__(deadline_ms)
        self.name = name
        self.log = log if log is not None else []
        self.completable = False
        self.completions = 0
        self.expirations = 0
        self.tries = 0

    def try_complete(self) -> bool:
        self.tries += 1
        return self.completable and self.force_complete()

    def on_complete(self) -> None:
        self.completions += 1
        self.log.append(self.name)

    def on_expiration(self) -> None:
        self.expirations += 1


class _CompletableOnTry(_Operation):
    """Its condition comes true between the first and the second look."""

    __slots__ = ("at",)

    def __init__(self, at: int) -> None:
        super().__init__()
        self.at = at

    def try_complete(self) -> bool:
        self.completable = self.tries + 1 >= self.at
        return super().try_complete()


@pytest.fixture
def timer() -> Timer:
    return Timer()


@pytest.fixture
def purgatory(timer: Timer) -> Purgatory:
    return Purgatory(timer)


def test_what_can_complete_at_once_is_not_registered(purgatory: Purgatory, timer: Timer) -> None:
    operation = _CompletableOnTry(at=1)
    assert purgatory.try_complete_else_watch(operation, ["k"])
    assert operation.completions == 1
    assert (purgatory.purgatory_size, purgatory.watched_keys, len(timer)) == (0, 0, 0)


def test_an_event_between_try_and_watch_is_not_lost(purgatory: Purgatory, timer: Timer) -> None:
    operation = _CompletableOnTry(at=2)
    assert purgatory.try_complete_else_watch(operation, ["k"])
    assert operation.tries == 2
    assert (operation.completions, purgatory.num_delayed_operations, len(timer)) == (1, 0, 0)
    purgatory.purge()
    assert (purgatory.purgatory_size, purgatory.watched_keys) == (0, 0)


def test_what_is_known_to_wait_is_parked_without_a_try(purgatory: Purgatory, timer: Timer) -> None:
    operation = _CompletableOnTry(at=1)
    purgatory.watch(operation, ["k", "l"])
    assert (operation.tries, purgatory.purgatory_size, len(timer)) == (0, 2, 1)
    assert purgatory.check_and_complete("l") == 1
    assert (operation.completions, purgatory.num_delayed_operations, len(timer)) == (1, 0, 0)


def test_a_poke_completes_what_its_key_satisfies_and_counts_it(purgatory: Purgatory) -> None:
    first, second = _Operation(), _Operation()
    assert purgatory.check_and_complete("k1") == 0
    assert not purgatory.try_complete_else_watch(first, ["k1"])
    assert purgatory.check_and_complete("k1") == 0
    assert not purgatory.try_complete_else_watch(second, ["k2"])
    assert purgatory.check_and_complete("k2") == 0
    first.completable = True
    assert purgatory.check_and_complete("k1") == 1
    assert purgatory.check_and_complete("k1") == 0
    second.completable = True
    assert purgatory.check_and_complete("k2") == 1
    assert purgatory.check_and_complete("k2") == 0
    assert (purgatory.watched_keys, purgatory.num_delayed_operations) == (0, 0)


def test_expires_at_its_deadline_and_counts_it(purgatory: Purgatory, timer: Timer) -> None:
    soon, late = _Operation(deadline_ms=20), _Operation(deadline_ms=200_000)
    purgatory.try_complete_else_watch(soon, ["k1"])
    purgatory.try_complete_else_watch(late, ["k2"])
    timer.advance(19.9)
    assert not soon.completed
    timer.advance(20)
    assert (soon.completions, soon.expirations) == (1, 1)
    assert (late.completions, late.expirations) == (0, 0)
    assert (purgatory.expired, purgatory.num_delayed_operations) == (1, 1)


def test_a_completed_operation_does_not_expire(purgatory: Purgatory, timer: Timer) -> None:
    operation = _Operation(deadline_ms=20)
    purgatory.try_complete_else_watch(operation, ["k"])
    operation.completable = True
    purgatory.check_and_complete("k")
    assert len(timer) == 0
    timer.advance(100)
    assert (operation.completions, operation.expirations, purgatory.expired) == (1, 0, 0)


def test_counts_follow_watch_entries_and_timers(purgatory: Purgatory) -> None:
    one, two, three = _Operation(), _Operation(), _Operation()
    purgatory.try_complete_else_watch(one, ["k1"])
    purgatory.try_complete_else_watch(two, ["k1", "k2"])
    purgatory.try_complete_else_watch(three, ["k1", "k2", "k3"])
    assert (purgatory.num_delayed_operations, purgatory.purgatory_size) == (3, 6)
    for operation in (two, three):
        operation.completable = True
        assert operation.try_complete()
    assert (purgatory.num_delayed_operations, purgatory.purgatory_size) == (1, 6)
    for key, left in (("k1", 4), ("k2", 2), ("k3", 1)):
        purgatory.check_and_complete(key)
        assert purgatory.purgatory_size == left
    assert purgatory.watched_keys == 1


def test_cancel_for_key_takes_that_keys_operations_without_completing_them(
    purgatory: Purgatory, timer: Timer
) -> None:
    operations = [_Operation() for _ in range(3)]
    for operation, key in zip(operations, ("k1", "k1", "k2"), strict=True):
        purgatory.try_complete_else_watch(operation, [key])
    assert purgatory.cancel_for_key("k1") == operations[:2]
    assert purgatory.cancel_for_key("unknown") == []
    assert (purgatory.purgatory_size, purgatory.num_delayed_operations, len(timer)) == (1, 1, 1)
    assert purgatory.watched("k1") == 0
    assert purgatory.watched("k2") == 1
    assert not any(operation.completions for operation in operations)


def test_cancel_for_key_leaves_out_what_was_completed_elsewhere(purgatory: Purgatory) -> None:
    done, waiting = _Operation(), _Operation()
    purgatory.try_complete_else_watch(done, ["k1", "k2"])
    purgatory.try_complete_else_watch(waiting, ["k1"])
    done.force_complete()
    assert purgatory.cancel_for_key("k1") == [waiting]
    assert purgatory.purge() == 1
    assert purgatory.watched_keys == 0


def test_operations_of_a_key_are_tried_first_come_first_served(purgatory: Purgatory) -> None:
    log: list[str] = []
    operations = [_Operation(name, log=log) for name in "abcd"]
    for operation in operations:
        purgatory.try_complete_else_watch(operation, ["k", operation.name])
    for operation in reversed(operations):
        operation.completable = True
    purgatory.check_and_complete("k")
    assert log == list("abcd")


def test_an_operation_may_park_another_under_the_key_that_completed_it(
    purgatory: Purgatory,
) -> None:
    follower = _Operation()

    class Parks(_Operation):
        __slots__ = ()

        def on_complete(self) -> None:
            super().on_complete()
            purgatory.try_complete_else_watch(follower, ["k"])

    first = Parks()
    purgatory.try_complete_else_watch(first, ["k"])
    first.completable = follower.completable = False
    first.completable = True
    assert purgatory.check_and_complete("k") == 1
    assert purgatory.watched("k") == 1
    assert follower.tries == 2


def test_cancel_of_an_operation_leaves_nothing_behind(purgatory: Purgatory, timer: Timer) -> None:
    operations = [_Operation(deadline_ms=1000 + n) for n in range(200)]
    for n, operation in enumerate(operations):
        purgatory.try_complete_else_watch(operation, [n % 7, "shared"])
    for operation in operations:
        assert operation.cancel()
    assert (purgatory.purgatory_size, purgatory.watched_keys) == (0, 0)
    assert (purgatory.num_delayed_operations, len(timer)) == (0, 0)
    assert not any(operation.completions for operation in operations)


def test_who_gives_up_gets_no_answer_and_leaves_nothing_behind(
    purgatory: Purgatory, timer: Timer
) -> None:
    operation = _Operation(deadline_ms=20)
    purgatory.watch(operation, ["k", "l"])
    operation.give_up()
    assert (purgatory.purgatory_size, purgatory.watched_keys, len(timer)) == (0, 0, 0)
    timer.advance(20)
    assert (operation.completions, purgatory.expired) == (0, 0)


def test_what_is_swept_while_it_is_answered_leaves_the_others_of_its_key(timer: Timer) -> None:
    purgatory = Purgatory(timer, purge_interval=1)
    done, waits = _Operation(), _Operation()
    purgatory.watch(done, ["k", "l"])
    purgatory.watch(waits, ["k"])
    done.completable = True
    assert purgatory.check_and_complete("k") == 1
    assert purgatory.waiting("k") == [waits]
    assert (purgatory.purgatory_size, purgatory.watched_keys) == (1, 1)


def test_entries_of_completed_operations_stay_bounded(purgatory: Purgatory) -> None:
    keys = [f"quiet-{n}" for n in range(20)]
    for _ in range(500):
        operation = _Operation()
        purgatory.try_complete_else_watch(operation, [*keys, "busy"])
        operation.completable = True
        assert purgatory.check_and_complete("busy") == 1
        assert purgatory.purgatory_size <= purgatory.purge_interval
    purgatory.purge()
    assert (purgatory.purgatory_size, purgatory.watched_keys) == (0, 0)
    assert not purgatory._dead


def test_a_key_named_twice_is_watched_once(purgatory: Purgatory) -> None:
    operation = _Operation()
    purgatory.try_complete_else_watch(operation, ["k", "k"])
    assert purgatory.purgatory_size == 1
    operation.completable = True
    assert purgatory.check_and_complete("k") == 1
    assert (purgatory.purgatory_size, purgatory.watched_keys, len(purgatory._dead)) == (0, 0, 0)


_KEYS = st.lists(st.integers(0, 4), min_size=1, max_size=4)
_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("park"), _KEYS),
        st.tuples(st.sampled_from(["poke", "allow", "cancel", "force"]), st.integers(0, 20)),
        st.tuples(st.sampled_from(["tick", "purge"]), st.integers(0, 5)),
    ),
    max_size=80,
)


@given(_STEPS)
def test_each_operation_ends_once_and_the_counts_agree(
    steps: list[tuple[str, int | list[int]]],
) -> None:
    timer = Timer()
    purgatory = Purgatory(timer, purge_interval=6)
    operations: list[_Operation] = []
    now = 0
    for verb, argument in steps:
        if isinstance(argument, list):
            operation = _Operation(deadline_ms=now + 4)
            operations.append(operation)
            purgatory.try_complete_else_watch(operation, argument)
        elif verb == "poke":
            purgatory.check_and_complete(argument % 5)
        elif verb == "tick":
            now += argument
            timer.advance(now)
        elif verb == "purge":
            purgatory.purge()
        elif operations:
            operation = operations[argument % len(operations)]
            operation.completable |= verb == "allow"
            if verb != "allow":
                _ = operation.cancel() if verb == "cancel" else operation.force_complete()
        waiting = [operation for operation in operations if not operation.completed]
        assert purgatory.num_delayed_operations == len(waiting) == len(timer)
        assert all(operation.completions <= 1 for operation in operations)
        assert all(operation.deadline_ms > now for operation in waiting)
        entries = [op for watchers in purgatory._watchers.values() for op in watchers]
        assert purgatory.purgatory_size == len(entries)
        assert all(purgatory._watchers.values()), "a key without watchers is gone"
        assert sum(op.completed for op in entries) == purgatory._dead_entries <= 6
    for operation in operations:
        operation.cancel()
    purgatory.purge()
    assert (purgatory.purgatory_size, purgatory.watched_keys, len(timer)) == (0, 0, 0)


class _Once(DelayedOperation):
    __slots__ = ("answers",)

    def __init__(self) -> None:
        super().__init__(deadline_ms=0)
        self.answers = 0

    def try_complete(self) -> bool:
        return self.force_complete()

    def on_complete(self) -> None:
        self.answers += 1
        assert not self.force_complete(), "its own completion must not run again"


def test_only_the_first_completion_has_an_effect() -> None:
    operation = _Once()
    assert operation.try_complete()
    assert not operation.try_complete()
    assert not operation.force_complete()
    assert not operation.cancel()
    assert operation.answers == 1


def test_a_cancelled_operation_never_answers() -> None:
    operation = _Once()
    assert operation.cancel()
    assert not operation.force_complete()
    assert not operation.cancel()
    assert operation.answers == 0


def test_who_waits_under_a_key_is_told_without_the_completed() -> None:
    purgatory = Purgatory(Timer())
    first, second = _Operation("first"), _Operation("second")
    purgatory.watch(first, ["a", "b"])
    purgatory.watch(second, ["b"])
    assert purgatory.waiting("b") == [first, second]
    first.force_complete()
    assert purgatory.waiting("b") == [second]
    assert purgatory.waiting("c") == []
