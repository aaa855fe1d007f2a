"""Rules from a test's thread: armed with the next request, on a real socket."""

from __future__ import annotations

import asyncio
import socket
from concurrent.futures import ThreadPoolExecutor

import pytest

from mockbroker import Fault, FaultError, MockBroker, VerificationError, WaitTimeoutError
from mockbroker_protocol.messages.group_membership import HeartbeatRequest, HeartbeatResponse
from tests.support.blocking import BlockingConnection

BEAT = HeartbeatRequest("g", 1, "m")


def beat(client: BlockingConnection) -> int:
    client.send(BEAT, 4)
    return client.receive(HeartbeatResponse).error_code


def test_rules_come_and_go_while_clients_talk() -> None:
    with MockBroker() as broker, BlockingConnection(broker.bootstrap_servers) as client:
        assert beat(client) == 25
        (rule,) = broker.faults.add(Fault(api="Heartbeat", error="NOT_COORDINATOR"))
        assert beat(client) == 16
        (status,) = broker.faults.list()
        assert (status.id, status.hits, status.held) == (rule.id, 1, 0)
        assert broker.faults.remove(rule).hits == 1
        assert beat(client) == 25
        with broker.faults.armed({"preset": "coordinator_loading", "count": 1}):
            assert [beat(client), beat(client)] == [14, 25]
        assert broker.faults.list() == []


def test_a_parked_request_is_released_from_the_test_s_thread() -> None:
    with (
        MockBroker() as broker,
        BlockingConnection(broker.bootstrap_servers) as client,
        broker.faults.armed(Fault(api="Heartbeat", park=True)) as (rule,),
    ):
        client.send(BEAT, 4)
        while not broker.faults.list()[0].held:
            pass
        assert broker.faults.release(rule) == 1
        assert client.receive(HeartbeatResponse).error_code == 25


def test_rules_may_be_armed_from_the_start_and_mistakes_are_told() -> None:
    with (
        MockBroker(faults=[{"api": "Heartbeat", "error": 16}]) as broker,
        BlockingConnection(broker.bootstrap_servers) as client,
    ):
        assert beat(client) == 16
        with pytest.raises(FaultError, match="api: 'Beat' is no API"):
            broker.faults.add({"api": "Beat", "drop": True})
        broker.faults.clear()
        assert beat(client) == 25
    with pytest.raises(FaultError, match="broker: there is no broker 9"):
        MockBroker(faults=[Fault(broker=9, drop=True)]).start()


def test_hits_are_waited_for() -> None:
    with MockBroker() as broker, BlockingConnection(broker.bootstrap_servers) as client:
        (rule,) = broker.faults.add(Fault(api="Heartbeat", observe=True, id="eye"))
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(rule.wait, 2, 20)
            assert [beat(client), beat(client)] == [25, 25]
            assert waiting.result(20).hits == 2
        assert (str(rule), rule.hits, rule.status().id) == ("eye", 2, "eye")
        with pytest.raises(WaitTimeoutError) as caught:
            rule.wait(hits=3, timeout=0)
        assert str(caught.value) == "waited 0 s for 3 hit(s) of fault eye: 2 hit(s)"
        (other,) = broker.faults.add(Fault(api="Heartbeat", group="x", park=True, maybe=True))
        beat(client)
        with pytest.raises(WaitTimeoutError, match=r"the nearest others:\n .*groups are \['g'\]"):
            other.wait(timeout=0)
        assert (other.release(), other.remove().hits) == (0, 0)
        assert repr(other).startswith("<FaultRule fault-1 {'api': 'Heartbeat'")


def test_a_rule_that_never_fired_ends_its_with_badly() -> None:
    with MockBroker() as broker:
        with (
            pytest.raises(VerificationError, match=r"fault-1 .* never fired"),
            broker.faults.armed(Fault(api="Fetch", drop=True)),
        ):
            pass
        assert broker.faults.list() == []
        with broker.faults.armed(Fault(api="Fetch", drop=True, maybe=True)):
            pass
        with pytest.raises(KeyError), broker.faults.armed(Fault(api="Fetch", drop=True)):
            raise KeyError
        broker.faults.discard(broker.faults.add(Fault(api="Fetch", drop=True)))


def test_the_end_of_a_broker_or_a_scope_tells_what_never_fired() -> None:
    silent = Fault(api="Fetch", drop=True)
    with pytest.raises(VerificationError), MockBroker(faults=[silent]):
        pass
    with pytest.raises(KeyError), MockBroker(faults=[silent]):
        raise KeyError
    with MockBroker(faults=[Fault(api="Fetch", drop=True, maybe=True)]) as broker:
        (outer,) = broker.faults.add(Fault(api="Fetch", drop=True, id="outer"))
        with pytest.raises(VerificationError) as caught, broker.scope():
            broker.faults.add(Fault(api="Fetch", drop=True, id="inner"))
        assert [one.id for one in caught.value.verdict.unfired] == ["inner"]
        with pytest.raises(KeyError), broker.scope():
            broker.faults.remove(broker.faults.add(silent)[0].id + "?")
        assert [one.id for one in broker.verdict().unfired] == [outer.id]
        broker.verify()


def test_a_strict_broker_tells_of_refused_requests() -> None:
    with (
        pytest.raises(VerificationError, match="refused requests:\n  "),
        MockBroker(strict=True) as broker,
    ):
        refuse(broker)
    with MockBroker() as broker:
        refuse(broker)
        with pytest.raises(VerificationError, match="refused requests"):
            broker.verify(strict=True)


def refuse(broker: MockBroker) -> None:
    """Ask for an API that there is not, and see the connection closed."""
    with socket.create_connection((broker.host, broker.port)) as client:
        client.sendall(b"\x00\x00\x00\x0a\x03\xe7\x00\x00\x00\x00\x00\x01\x00\x00")
        assert client.recv(1) == b""


async def test_the_same_is_awaited() -> None:
    async with MockBroker() as broker:
        faults = broker.aio.faults
        (rule,) = await faults.add(Fault(api="Metadata", observe=True))
        async with asyncio.timeout(20):
            wait = asyncio.ensure_future(rule.wait())
            _, writer = await asyncio.open_connection(broker.host, broker.port)
            writer.write(
                b"\x00\x00\x00\x0e\x00\x03\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00"
            )
            assert (await wait).hits == await rule.hits() == 1
            writer.close()
        with pytest.raises(VerificationError):
            async with faults.armed(Fault(api="Fetch", drop=True)) as (silent,):
                assert str(silent) == silent.id
        with pytest.raises(VerificationError):
            async with broker.aio.scope():
                await faults.add(Fault(api="Fetch", drop=True))
        with pytest.raises(KeyError):
            async with broker.aio.scope(), faults.armed(Fault(api="Fetch", drop=True)):
                raise KeyError
    with pytest.raises(VerificationError):
        async with MockBroker(faults=[Fault(api="Fetch", drop=True)]):
            pass
