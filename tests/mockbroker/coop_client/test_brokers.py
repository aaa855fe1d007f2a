"""This package's messages over aiokafka's connections."""

from __future__ import annotations

import sys

import pytest

from mockbroker import MockBroker
from mockbroker.coop.numbers import STAGES
from mockbroker.coop_client.brokers import VERSIONS, Brokers
from mockbroker.coop_client.errors import (
    ExtensionMissingError,
    RefusedError,
    UnreachableError,
)
from mockbroker_protocol.api_keys import ApiKey
from mockbroker_protocol.messages.group_membership import HeartbeatRequest, HeartbeatResponse
from mockbroker_protocol.messages.metadata import MetadataRequest, MetadataResponse
from tests.support.sharing import Links


async def test_topics_and_whether_they_may_be_shared(broker: MockBroker, links: Links) -> None:
    broker.topic("closed").create(2, config={"range.fetch.enable": "false"})
    link = await links.to(broker)
    found = await link.topics(["t", "closed", "none"])
    assert {name: (dict(one.leaders), one.may_be_shared) for name, one in found.items()} == {
        "t": ({0: 1}, True),
        "closed": ({0: 1, 1: 1}, False),
    }


async def test_the_coordinator_is_found_and_asked(broker: MockBroker, links: Links) -> None:
    link = await links.to(broker)
    told = await link.ask_coordinator(
        HeartbeatRequest("g", 1, "nobody"), HeartbeatResponse, lambda one: (one.error_code,)
    )
    assert told.error_code == 25


async def test_a_broker_without_the_extension_is_told_of(links: Links) -> None:
    with MockBroker(topics={"t": 1}) as plain:
        link = links.unconnected(plain)
        with pytest.raises(ExtensionMissingError, match=r"coop\.extension\.enable=true"):
            await link.start(STAGES)


async def test_a_version_that_the_broker_lacks_is_refused(
    broker: MockBroker, links: Links, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = await links.to(broker)
    monkeypatch.setitem(VERSIONS, ApiKey.METADATA, 99)
    with pytest.raises(RefusedError, match="MetadataRequest v99: error 35"):
        await link.ask(1, MetadataRequest(), MetadataResponse)


async def test_a_node_that_nobody_knows_is_unreachable(broker: MockBroker, links: Links) -> None:
    link = await links.to(broker)
    with pytest.raises(UnreachableError):
        await link.ask(77, MetadataRequest(), MetadataResponse)


async def test_no_broker_at_all(links: Links) -> None:
    with MockBroker() as gone:
        link = links.unconnected(gone)
    with pytest.raises(UnreachableError):
        await link.start(STAGES)


def test_without_aiokafka_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "aiokafka.client", None)
    with pytest.raises(ImportError, match=r"pip install 'mockbroker\[coop\]'"):
        Brokers("localhost:1", "me", None, {})
