"""The journal seen from a test."""

from __future__ import annotations

import asyncio
import threading

import pytest

from mockbroker import MockBroker
from mockbroker.testing.bridge import WaitTimeoutError
from mockbroker_protocol.messages.metadata import MetadataRequest, MetadataResponse
from tests.support.blocking import BlockingConnection


def ask(bootstrap: str) -> None:
    with BlockingConnection(bootstrap) as client:
        client.call(MetadataRequest(topics=[]), 12, MetadataResponse)


def test_an_expectation_ends_with_the_request() -> None:
    with MockBroker() as broker:
        asking = threading.Thread(target=ask, args=(broker.bootstrap_servers,))
        asking.start()
        (served,) = broker.journal.expect(api="Metadata").within(10)
        asking.join()
        assert served.client_id == "case"
        assert [one.api_name for one in broker.journal.requests(client="case")] == ["Metadata"]
        assert broker.journal.requests(since=broker.journal.cursor()) == []
        assert broker.journal.expect(api="Metadata", times=1).within(0) == [served]
        assert len(broker.journal.events()) >= 1


def test_an_expectation_in_vain_shows_the_nearest() -> None:
    with MockBroker() as broker:
        ask(broker.bootstrap_servers)
        expectation = broker.journal.expect(api="OffsetCommit", group="g")
        assert repr(expectation) == "Expectation(api='OffsetCommit', group='g')"
        with pytest.raises(WaitTimeoutError) as caught:
            expectation.within(0.01)
        first, second, third = str(caught.value).splitlines()
        assert first == (
            "waited 0.01 s for 1 request(s) with api='OffsetCommit', group='g': 0 of 1 match"
        )
        assert second.strip() == "the nearest others:"
        assert third.endswith("Metadata v12 ok: api is Metadata, groups are []")
        with pytest.raises(WaitTimeoutError, match=r"1 of 1 match$"):
            broker.journal.expect(api="Metadata", times=2).within(0)


def test_a_scope_sees_its_own_requests() -> None:
    with MockBroker() as broker:
        ask(broker.bootstrap_servers)
        with broker.scope():
            assert broker.journal.tail() == ""
            ask(broker.bootstrap_servers)
            assert len(broker.journal.requests()) == 1
        assert len(broker.journal.tail().splitlines()) == 2


async def test_an_expectation_is_awaited() -> None:
    async with MockBroker() as broker:
        waiting = asyncio.ensure_future(broker.aio.journal.expect(api="Metadata").within(10))
        await asyncio.to_thread(ask, broker.aio.bootstrap_servers)
        assert len(await waiting) == 1
        with pytest.raises(WaitTimeoutError):
            await broker.aio.journal.expect(api="Fetch").within(0)
