"""Rules are armed all or none, counted, listed, released and taken back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker.faults import Fault, FaultError
from mockbroker.faults.armed_fault import ArmedFault
from mockbroker.faults.presets import preset
from mockbroker.journal import FaultChanged
from mockbroker_protocol.messages.group_membership import HeartbeatRequest, HeartbeatResponse
from tests.support.core import Core

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker.faults.request_view import Asking, RequestView

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


def beat(core: Core, times: int = 1) -> list[int]:
    client = core.client()
    request = HeartbeatRequest("g", 1, "m")
    return [client.call(request, 4, HeartbeatResponse).error_code for _ in range(times)]


def test_a_rule_that_observes_only_counts(core: Core, monkeypatch: pytest.MonkeyPatch) -> None:
    # The request goes its usual way.
    monkeypatch.delattr("mockbroker.node.interceptor.Interception.start")
    core.cluster.faults.add(Fault(api="Heartbeat", observe=True, id="eye"))
    assert beat(core, 3) == [25, 25, 25]
    (armed,) = core.cluster.faults.list()
    assert armed.hits == 3
    served = [one for one in core.cluster.journal.requests() if one.api_name == "Heartbeat"]
    assert [(one.fault, one.parked) for one in served] == [("eye", False)] * 3


def test_a_request_costs_the_checks_of_the_rules_that_name_its_api(
    core: Core, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    matches = ArmedFault.matches

    def counted(armed: ArmedFault, asking: Asking, view: RequestView) -> bool:
        asked.append(armed.id)
        return matches(armed, asking, view)

    monkeypatch.setattr(ArmedFault, "matches", counted)
    core.cluster.faults.add([Fault(api="Fetch", drop=True)] * 50)
    core.cluster.faults.add(Fault(api=("Heartbeat", "Fetch"), error=16, count=1, id="mine"))
    core.cluster.faults.add(Fault(client="nobody", drop=True, id="any"))
    assert beat(core, 3) == [16, 25, 25]
    assert asked == ["mine", "any", "any", "any"]


def test_many_rules_are_armed_with_one_look_at_each(
    core: Core, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = []
    about: Callable[[Fault], str] = vars(Fault)["about"].fget

    def counted(fault: Fault) -> str:
        looks.append(fault)
        return about(fault)

    monkeypatch.setattr(Fault, "about", property(counted))
    counts = []
    for number in (20, 40):
        core.cluster.faults.clear()
        looks.clear()
        core.cluster.faults.add([DROP] * number)
        counts.append(len(looks) / number)
    assert counts[0] == counts[1]


def test_rules_that_are_exhausted_leave_requests_alone(core: Core) -> None:
    core.cluster.faults.add(Fault(api="Heartbeat", error=16, count=2))
    assert core.broker.requests.faults is not None
    assert beat(core, 3) == [16, 16, 25]
    assert core.broker.requests.faults is None


def test_what_never_fired_is_told_once(core: Core) -> None:
    faults = core.cluster.faults
    faults.add(Fault(api="Fetch", drop=True, id="a"), Fault(api="Heartbeat", error=16, id="b"))
    faults.add(Fault(api="Fetch", drop=True, id="c", maybe=True))
    faults.add(Fault(api="Fetch", drop=True, id="d"))
    beat(core)
    faults.remove("d")
    assert [armed.id for armed in faults.take_silent(["x"])] == []
    assert [armed.id for armed in faults.take_silent(spared=["a"])] == ["d"]
    assert [armed.id for armed in faults.take_silent()] == ["a"]
    assert faults.take_silent() == []


def test_of_a_preset_one_rule_has_to_fire(core: Core) -> None:
    faults = core.cluster.faults
    faults.add({"preset": "fenced_producer"}, {"preset": "coordinator_loading"})
    faults.add(preset("leader_moved"))
    beat(core)
    told = faults.take_silent()
    assert [armed.fault.of_preset for armed in told] == ["fenced_producer", "leader_moved"]


def test_a_reset_forgets_what_should_have_fired(core: Core) -> None:
    faults = core.cluster.faults
    faults.add(DROP)
    faults.remove("fault-1")
    faults.add(DROP)
    faults.reset()
    assert (faults.list(), faults.take_silent()) == ([], [])
