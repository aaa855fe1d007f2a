"""The journal tells whoever listens, in order, and asks for requests only on demand."""

from __future__ import annotations

from mockbroker.journal import ConnectionOpened, Event, Journal


def test_every_listener_hears_each_event_in_order() -> None:
    journal = Journal()
    first: list[Event] = []
    second: list[Event] = []
    journal.listen(first.append)
    opened = ConnectionOpened(1, "/127.0.0.1", "PLAINTEXT")
    journal.record(opened)
    journal.listen(second.append)
    again = ConnectionOpened(2, "/127.0.0.1", "PLAINTEXT")
    journal.record(again)
    assert first == [opened, again]
    assert second == [again]


def test_requests_are_wanted_once_one_listener_asks() -> None:
    journal = Journal()
    journal.listen(lambda _event: None)
    assert not journal.wants_requests
    journal.listen(lambda _event: None, requests=True)
    journal.listen(lambda _event: None)
    assert journal.wants_requests
