"""What the leader remembers of those who follow."""

from __future__ import annotations

from mockbroker.clock import Clock
from mockbroker.quorum.observers import OBSERVER_SESSION_TIMEOUT_MS, Observers

DIRECTORY = b"d" * 16


def test_a_replica_without_an_id_is_nobody() -> None:
    observers = Observers(Clock())
    observers.fetched(-1, DIRECTORY, 0, 5)
    assert observers.current() == []


def test_who_has_everything_is_caught_up() -> None:
    clock = Clock(1000)
    observers = Observers(clock)
    observers.fetched(2, DIRECTORY, 3, 5)
    (replica,) = observers.current()
    assert (replica.replica_id, replica.directory_id) == (2, DIRECTORY)
    assert (replica.log_end_offset, replica.last_fetch_ms) == (3, 1000)
    assert replica.last_caught_up_ms == -1
    clock.now_ms = 50
    observers.fetched(2, DIRECTORY, 9, 9)
    assert (replica.log_end_offset, replica.last_caught_up_ms) == (9, 1050)


def test_who_has_what_there_was_at_its_last_fetch_was_caught_up_then() -> None:
    clock = Clock(1000)
    observers = Observers(clock)
    observers.fetched(2, DIRECTORY, 3, 5)
    clock.now_ms = 70
    observers.fetched(2, DIRECTORY, 5, 8)
    (replica,) = observers.current()
    assert (replica.last_fetch_ms, replica.last_caught_up_ms) == (1070, 1000)


def test_who_falls_silent_is_forgotten() -> None:
    clock = Clock()
    observers = Observers(clock)
    observers.fetched(3, DIRECTORY, 0, 5)
    clock.now_ms = 1
    observers.fetched(2, DIRECTORY, 0, 5)
    clock.now_ms = OBSERVER_SESSION_TIMEOUT_MS
    assert [replica.replica_id for replica in observers.current()] == [2, 3]
    clock.now_ms += 1
    assert [replica.replica_id for replica in observers.current()] == [2]
    observers.clear()
    assert observers.current() == []
