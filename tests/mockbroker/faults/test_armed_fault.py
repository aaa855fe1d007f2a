"""What a rule in force asks of a request, and what it says of one that does not fit."""

from __future__ import annotations

from random import Random

import pytest

from mockbroker.faults import Fault
from mockbroker.faults.armed_fault import ArmedFault
from mockbroker.faults.request_view import RequestView
from mockbroker.journal import RequestServed
from mockbroker_protocol.messages.group_membership import HeartbeatRequest
from mockbroker_protocol.subjects import subjects_of
from tests.support.requests import produce


def armed(**fields: object) -> ArmedFault:
    fault = Fault.from_dict({"observe": True, **fields})
    return ArmedFault(fault, "f", 100.0, Random(1), lambda _id: None)


def asked(
    body: object, api_key: int, *, listener: str = "PLAINTEXT"
) -> tuple[RequestServed, RequestView]:
    asking = RequestServed(api_key, 4, 1, "app-1", 7)
    asking.listener = listener
    return asking, RequestView(asking, body, lambda: subjects_of(body), lambda _id: None)


BEAT = HeartbeatRequest("billing", 1, "m")


@pytest.mark.parametrize(
    ("fields", "mismatch"),
    [
        ({"api": "Heartbeat", "versions": 4, "group": "bil*", "client": "app-*"}, None),
        ({"when": "body.generation_id == 1", "connection": 7, "broker": 0}, "it is client"),
        ({"api": "Fetch"}, "api is Heartbeat"),
        ({"api": "Heartbeat", "versions": "0-3"}, "version is 4"),
        ({"client": "web-*"}, "it is client 'app-1', listener PLAINTEXT"),
        ({"group": "shipping"}, "groups are ['billing']"),
        ({"transactional_id": "tx"}, "transactional ids are []"),
        ({"topic": "orders"}, "topics are none"),
        ({"when": "body.generation_id == 2"}, "when says no"),
        ({"when": "body.acks == 2"}, "when: HeartbeatRequest has no 'acks'"),
    ],
)
def test_what_does_not_fit_is_told(fields: dict[str, object], mismatch: str | None) -> None:
    rule = armed(**fields)
    asking, view = asked(BEAT, 12)
    assert rule.matches(asking, view) is (mismatch is None)
    told = ", ".join(rule.mismatches(asking, view, was_asked=True)) if mismatch else None
    assert told is None or told.startswith(mismatch or "")


def test_partitions_are_told_with_their_topics() -> None:
    asking, view = asked(produce("orders", index=2), 0)
    rule = armed(api="Produce", topic="orders", partition=1)
    assert not rule.matches(asking, view)
    assert rule.mismatches(asking, view, was_asked=True) == ["topics are orders [2]"]
    assert armed(api="Produce", topic="ord*", partition=2).matches(asking, view)


def test_brokers_among_themselves_are_left_alone_unless_named() -> None:
    asking, view = asked(BEAT, 12, listener="REPLICATION")
    assert not armed(api="Heartbeat").matches(asking, view)
    assert armed(api="Heartbeat", listener="REPL*").matches(asking, view)


def test_a_function_is_a_condition_and_its_errors_say_no() -> None:
    seen: list[RequestView] = []

    def when(request: RequestView) -> bool:
        seen.append(request)
        return bool(request.body.group_id == "billing")

    fault = Fault(api="Heartbeat", observe=True, when=when)
    rule = ArmedFault(fault, "f", 0.0, Random(1), lambda _id: None)
    asking, view = asked(BEAT, 12)
    assert rule.matches(asking, view)
    assert seen == [view]
    wrong = Fault(observe=True, when=lambda request: request.body.nothing)
    rule = ArmedFault(wrong, "f", 0.0, Random(1), lambda _id: None)
    assert not rule.matches(asking, view)
    assert rule.problem is not None
    assert rule.problem.startswith("AttributeError: ")
    assert "<function " in str(wrong.to_dict()["when"])


def test_a_condition_is_asked_last_and_not_for_a_report() -> None:
    calls: list[RequestView] = []
    fault = Fault(api="Fetch", observe=True, when=calls.append)
    rule = ArmedFault(fault, "f", 0.0, Random(1), lambda _id: None)
    asking, view = asked(BEAT, 12)
    assert not rule.matches(asking, view)
    assert rule.mismatches(asking, view, was_asked=True) == ["api is Heartbeat"]
    assert calls == []


def test_it_is_silent_until_it_or_its_family_fires() -> None:
    rule, other, excused = armed(), armed(), armed(maybe=True)
    assert (rule.is_silent, excused.is_silent) == (True, False)
    rule.family.append(other)
    other.family = rule.family
    assert other.strike()
    assert not rule.is_silent
    other.take_back()
    assert (rule.is_silent, other.idle, other.hits) == (True, 1, 0)
    assert repr(rule) == "<ArmedFault f {'observe': True}, 0 hits>"
