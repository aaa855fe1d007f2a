"""What should fail a test is told once, with the requests that came nearest to a rule."""

from __future__ import annotations

import pytest

from mockbroker.faults import Fault
from mockbroker.journal import HandlerFailed
from mockbroker.state.verdict import Verdict, VerificationError, merged, nearest, verdict
from mockbroker_protocol.messages.group_membership import HeartbeatRequest, HeartbeatResponse
from tests.support.core import Core


@pytest.fixture
def core() -> Core:
    return Core(topics={"orders": 1})


def beat(core: Core, group: str = "g") -> None:
    core.client().call(HeartbeatRequest(group, 1, "m"), 4, HeartbeatResponse)


def test_a_rule_that_never_fired_is_told_with_what_did_not_fit(core: Core) -> None:
    beat(core)
    core.advance(5)
    core.cluster.faults.add(Fault(api="Heartbeat", group="billing", error=16))
    beat(core, "bill")
    found = verdict(core.cluster, since=0, strict=False)
    (unfired,) = found.unfired
    assert unfired.rule == {"api": "Heartbeat", "group": "billing", "error": 16}
    assert unfired.reason == "none of 2 request(s) fitted"
    assert len(unfired.nearest) == 2
    assert unfired.nearest[0].endswith("groups are ['bill']")
    assert unfired.nearest[1].endswith("groups are ['g'], it came before the rule was armed")
    assert str(found).startswith(
        "fault fault-1 (api='Heartbeat', group='billing', error=16) never fired: none of 2"
    )
    with pytest.raises(VerificationError, match="never fired") as caught:
        found.check()
    assert caught.value.verdict is found
    again = verdict(core.cluster, since=0, strict=False)
    assert again.is_clean
    assert str(again) == "nothing is wrong"
    again.check()


@pytest.mark.parametrize(
    ("fields", "reason", "near"),
    [
        ({"nth": 3}, "1 request(s) fitted, but with nth=3 it fired 0 time(s)", "it fits"),
        ({"after_ms": 500}, "none of 1 request(s) fitted", "in force from 500 on ms"),
        ({"after_ms": 500, "for_ms": 5}, "none of 1 request(s) fitted", "from 500 to 505 ms"),
    ],
)
def test_a_request_that_fitted_and_did_not_count(
    core: Core, fields: dict[str, object], reason: str, near: str
) -> None:
    core.cluster.faults.add({"api": "Heartbeat", "error": 16, **fields})
    beat(core)
    (unfired,) = verdict(core.cluster, since=0, strict=False).unfired
    assert unfired.reason == reason
    assert near in unfired.nearest[0]


def test_a_rule_about_connections_may_be_silent_too(core: Core) -> None:
    core.cluster.faults.add(Fault(latency_ms=5))
    (unfired,) = verdict(core.cluster, since=0, strict=False).unfired
    assert unfired.reason == "nothing was sent while it was armed"


def test_what_set_the_rule_off_is_not_near_it(core: Core) -> None:
    core.cluster.faults.add(Fault(api="Heartbeat", error=16))
    (armed,) = core.cluster.faults.list()
    beat(core)
    assert nearest(core.cluster.journal, armed, 0) == ("1 hit(s)", [])


def test_refused_requests_count_in_strict_mode_alone(core: Core) -> None:
    for strict, lines in ((False, 0), (True, 1), (True, 0)):
        if lines or not strict:
            core.client().send_bytes(b"\x00\x00\x00\x0a\x03\xe7" + bytes(5) + b"\x01\x00\x00")
        assert len(verdict(core.cluster, since=0, strict=strict).refused) == lines


def test_many_refusals_are_counted_and_failures_told(core: Core) -> None:
    for _ in range(24):
        event = HandlerFailed(1, "h", "app", "Fetch", 4, ValueError("x"))
        core.cluster.journal.record(event)
    lines = verdict(core.cluster, since=0, strict=True).refused
    assert (lines[0], lines[-1], len(lines)) == (
        "app#1 Fetch v4: ValueError('x')",
        "and 4 more",
        21,
    )


def test_several_brokers_have_one_verdict() -> None:
    assert merged([Verdict([], ["a"]), Verdict([], ["b"])]) == Verdict([], ["a", "b"])
