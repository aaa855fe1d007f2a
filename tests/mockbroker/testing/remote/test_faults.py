"""Fault rules over the admin API."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker import Fault, FaultError, NotSupported, VerificationError, WaitTimeoutError
from mockbroker_protocol.messages.metadata import MetadataRequest, MetadataResponse
from tests.support.blocking import BlockingConnection

if TYPE_CHECKING:
    from mockbroker import MockBroker
    from mockbroker.testing.remote.broker import RemoteBroker


def ask(broker: MockBroker) -> None:
    with BlockingConnection(broker.bootstrap_servers.partition(",")[0]) as client:
        client.call(MetadataRequest(topics=[]), 8, MetadataResponse)


def test_rules_are_armed_counted_and_taken_away(broker: MockBroker, remote: RemoteBroker) -> None:
    rule, other = remote.faults.add(
        Fault(api="Metadata", observe=True, id="seen"),
        [{"api": "Fetch", "park": True, "maybe": True}],
    )
    assert {one.id for one in remote.faults.list()} == {one.id for one in broker.faults.list()}
    with pytest.raises(WaitTimeoutError, match="hit"):
        rule.wait(timeout=0)
    ask(broker)
    assert (rule.wait(1).hits, rule.hits) == (1, 1)
    assert (other.release(), remote.faults.release()) == (0, 0)
    assert remote.faults.remove(other).fault.park
    with pytest.raises(KeyError):
        other.remove()
    assert other.status().hits == 0
    remote.faults.clear()
    assert list(remote.faults.list()) == []
    assert repr(rule).startswith("<FaultRule seen")


def test_a_rule_that_makes_no_sense_is_refused_with_its_field(remote: RemoteBroker) -> None:
    with pytest.raises(FaultError, match="api: 'Nope' is no API") as refused:
        remote.faults.add({"api": "Nope", "drop": True})
    assert refused.value.field == "api"
    with pytest.raises(NotSupported, match="a function cannot be sent"):
        remote.faults.add(Fault(api="Fetch", drop=True, when=lambda _: True))


def test_a_rule_that_never_fired_is_told(broker: MockBroker, remote: RemoteBroker) -> None:
    with (
        pytest.raises(VerificationError, match="never fired"),
        remote.faults.armed({"api": "Fetch", "drop": True}),
    ):
        pass
    assert list(remote.faults.list()) == []
    (rule,) = remote.faults.add({"api": "Fetch", "drop": True})
    remote.faults.discard([rule])
    remote.verify()
    remote.faults.add({"api": "Fetch", "drop": True})
    assert [one.rule["api"] for one in remote.verdict().unfired] == ["Fetch"]
    assert broker.verdict().is_clean


async def test_coroutines_have_the_same(broker: MockBroker, remote: RemoteBroker) -> None:
    async with remote.aio.faults.armed({"api": "Metadata", "observe": True}) as (rule,):
        ask(broker)
        assert (await rule.wait()).hits >= 1
