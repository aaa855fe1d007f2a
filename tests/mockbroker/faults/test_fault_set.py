"""Rules are armed all or none, counted, listed, released and taken back."""

from __future__ import annotations

import pytest

from mockbroker.faults import Fault, FaultError
from mockbroker.journal import FaultChanged
from mockbroker_protocol.messages.group_membership import HeartbeatRequest, HeartbeatResponse
from tests.support.core import Core

DROP = Fault(api="Fetch", drop=True)


@pytest.fixture
def core() -> Core:
    return Core()


def test_rules_are_armed_all_or_none(core: Core) -> None:
    faults = core.cluster.faults
    with pytest.raises(FaultError, match="api"):
        faults.add([DROP, {"api": "Fetch", "park": True}, {"api": "x", "drop": True}])
    with pytest.raises(FaultError, match="id"):
        faults.add(Fault(drop=True, id="a"), Fault(drop=True, id="a"))
    assert faults.list() == []
    assert core.broker.requests.faults is None


def test_rules_go_by_the_id_that_they_have_or_get(core: Core) -> None:
    faults = core.cluster.faults
    assert faults.add(DROP, Fault(drop=True, id="mine"), {"park": True}) == [
        "fault-1",
        "mine",
        "fault-2",
    ]
    with pytest.raises(FaultError, match="mine"):
        faults.add(Fault(drop=True, id="mine"))
    assert faults.remove("mine").fault.drop
    assert [armed.id for armed in faults.list()] == ["fault-1", "fault-2"]
    faults.clear()
    assert faults.list() == []
    with pytest.raises(KeyError):
        faults.remove("mine")


def test_rules_about_connections_do_not_meet_requests(core: Core) -> None:
    faults = core.cluster.faults
    faults.add(Fault(latency_ms=5))
    assert core.broker.requests.faults is None
    assert [armed.id for armed in core.cluster.nodes[0].network_faults] == ["fault-1"]
    faults.clear()
    assert list(core.cluster.nodes[0].network_faults) == []


def test_matches_and_hits_are_counted(core: Core) -> None:
    core.cluster.faults.add(Fault(api="Heartbeat", nth=2, error=16))
    client = core.client()
    for _ in range(3):
        client.call(HeartbeatRequest("g", 1, "m"), 4, HeartbeatResponse)
    (armed,) = core.cluster.faults.list()
    assert (armed.hits, armed.matched, armed.exhausted) == (1, 2, True)


def test_the_journal_hears_of_each_change(core: Core) -> None:
    faults = core.cluster.faults
    faults.add(Fault(api="Heartbeat", error=16, count=1, id="once"))
    core.client().call(HeartbeatRequest("g", 1, "m"), 4, HeartbeatResponse)
    faults.remove("once")
    faults.clear()
    told = [e for e in core.cluster.journal.events() if isinstance(e, FaultChanged)]
    assert [(e.action, e.fault_id, e.hits) for e in told] == [
        ("added", "once", 0),
        ("exhausted", "once", 1),
        ("removed", "once", 1),
        ("cleared", "", 0),
    ]
    assert told[0].rule == {"api": "Heartbeat", "error": 16, "count": 1, "id": "once"}


def test_what_a_removed_rule_held_back_goes_on(core: Core) -> None:
    faults = core.cluster.faults
    faults.add(Fault(api="Heartbeat", park=True))
    client = core.client()
    client.send(HeartbeatRequest("g", 1, "m"), 4)
    assert (client.answered, faults.release("fault-1")) == (0, 1)
    core.deliver()
    assert (client.answered, faults.release()) == (1, 0)
