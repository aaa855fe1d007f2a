"""A request as its line in the journal tells it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.mockbroker.testing.remote.test_journal import ask

if TYPE_CHECKING:
    from mockbroker import MockBroker
    from mockbroker.testing.remote.broker import RemoteBroker


def test_requests_are_those_of_the_broker(broker: MockBroker, remote: RemoteBroker) -> None:
    since = remote.journal.cursor()
    ask(broker, 3)
    here = broker.journal.requests(since=since, api="Metadata")
    there = remote.journal.requests(since=since, api=3, error=False)
    assert [one.line() for one in there] == [one.line() for one in here]
    for name in (
        "api_name",
        "broker_id",
        "parked",
        "cause",
        "answered",
        "error_codes",
        "client_id",
    ):
        assert [getattr(one, name) for one in there] == [getattr(one, name) for one in here], name
    assert (there[0].request, there[0].response) == (None, None)
    some = remote.journal.requests(since=since, where=lambda one: one is not there[0])
    assert len(some) >= 3
