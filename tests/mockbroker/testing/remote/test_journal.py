"""The journal over the admin API."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker import QueryError, WaitTimeoutError
from mockbroker_protocol.messages.metadata import MetadataRequest, MetadataResponse
from tests.support.blocking import BlockingConnection

if TYPE_CHECKING:
    from mockbroker import MockBroker
    from mockbroker.testing.remote.broker import RemoteBroker


def ask(broker: MockBroker, times: int = 1) -> None:
    with BlockingConnection(broker.bootstrap_servers.partition(",")[0]) as client:
        for _ in range(times):
            client.call(MetadataRequest(topics=[]), 8, MetadataResponse)


def test_events_are_values_as_in_process(broker: MockBroker, remote: RemoteBroker) -> None:
    ask(broker)
    remote.clock.jump(1)
    here = {repr(one) for one in broker.journal.events()}
    there = remote.journal.events()
    assert {type(one).__name__ for one in there} >= {"ConnectionOpened", "ClockChanged"}
    assert {type(one) for one in there} <= {type(one) for one in broker.journal.events()}
    assert len({repr(one) for one in there} & here) > 1


def test_an_expectation_is_met_or_says_what_came(broker: MockBroker, remote: RemoteBroker) -> None:
    journal = remote.journal
    since = journal.cursor()
    ask(broker, 2)
    assert len(journal.expect(api="Metadata", times=2, since=since).within(5)) == 2
    with pytest.raises(WaitTimeoutError, match=r"1 request\(s\) with api='Fetch'.*: 0 match") as e:
        journal.expect(api="Fetch", since=since).within(0)
    assert "api is Metadata" in str(e.value)
    with pytest.raises(QueryError, match="Nope"):
        journal.requests(api="Nope")
    assert "Metadata" in journal.tail(5)
    remote.reset()
    assert remote.journal.tail() == ""


async def test_coroutines_have_the_same(broker: MockBroker, remote: RemoteBroker) -> None:
    ask(broker)
    assert await remote.aio.journal.expect(api="Metadata").within(5)
    assert await remote.aio.journal.cursor() > 0
