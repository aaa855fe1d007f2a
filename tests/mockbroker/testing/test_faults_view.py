"""Rules from a test's thread: armed with the next request, on a real socket."""

from __future__ import annotations

import pytest

from mockbroker import MockBroker
from mockbroker.faults import Fault, FaultError
from mockbroker_protocol.messages.group_membership import HeartbeatRequest, HeartbeatResponse
from tests.support.blocking import BlockingConnection

BEAT = HeartbeatRequest("g", 1, "m")


def beat(client: BlockingConnection) -> int:
    client.send(BEAT, 4)
    return client.receive(HeartbeatResponse).error_code


def test_rules_come_and_go_while_clients_talk() -> None:
    with MockBroker() as broker, BlockingConnection(broker.bootstrap_servers) as client:
        assert beat(client) == 25
        (fault_id,) = broker.faults.add(Fault(api="Heartbeat", error="NOT_COORDINATOR"))
        assert beat(client) == 16
        (status,) = broker.faults.list()
        assert (status.id, status.hits, status.held) == (fault_id, 1, 0)
        assert broker.faults.remove(fault_id).hits == 1
        assert beat(client) == 25
        with broker.faults.armed({"preset": "coordinator_loading", "count": 1}):
            assert [beat(client), beat(client)] == [14, 25]
        assert broker.faults.list() == []


def test_a_parked_request_is_released_from_the_test_s_thread() -> None:
    with (
        MockBroker() as broker,
        BlockingConnection(broker.bootstrap_servers) as client,
        broker.faults.armed(Fault(api="Heartbeat", park=True)) as (fault_id,),
    ):
        client.send(BEAT, 4)
        while not broker.faults.list()[0].held:
            pass
        assert broker.faults.release(fault_id) == 1
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
