"""A rule is a value: the same in Python and as plain data, and refused when it makes no sense."""

from __future__ import annotations

import json
from random import Random

import pytest

from mockbroker.faults.errors import FaultError
from mockbroker.faults.fault import Delay, Fault, api_key, error_code

RULES: list[dict[str, object]] = [
    {"api": "Fetch", "error": "NOT_LEADER_OR_FOLLOWER", "topic": "orders", "partition": 0},
    {"api": ["Fetch", 0], "versions": [4, 12], "delay_ms": {"low": 1.0, "high": 2.0}},
    {"client": "app-*", "probability": 0.5, "seed": 3, "drop": True, "stage": "after"},
    {"latency_ms": {"mean": 5.0, "deviation": 1.0}, "bandwidth": 1000, "slice_bytes": 1},
    {"broker": 1, "refuse": True, "for_ms": 100, "after_ms": 5, "id": "down"},
    {"listener": "SSL", "break_handshake": True, "for_ms": 100},
    {"certificate": "expired", "nth": 2, "broker": 1},
    {"fail_login": True, "principal": "User:a*", "probability": 0.5, "client": "app"},
    {"expire_token": True, "principal": "User:alice", "stage": "after"},
    {"revoke_acl": "READ", "topic": "orders", "nth": 3},
    {"api": "Produce", "truncate_at": 0, "throttle_ms": 5},
    {"api": "Produce", "observe": True, "when": "body.acks == 0", "maybe": True},
]


@pytest.mark.parametrize("data", RULES)
def test_plain_data_goes_in_and_comes_out(data: dict[str, object]) -> None:
    fault = Fault.from_dict(json.loads(json.dumps(data)))
    assert fault.to_dict() == data
    assert Fault.from_dict(fault.to_dict()) == fault
    assert hash(fault) == hash(Fault.from_dict(data))


def test_versions_may_be_text() -> None:
    assert Fault.from_dict({"api": "Fetch", "versions": "4-12", "drop": True}).versions == (4, 12)
    assert Fault.from_dict({"api": "Fetch", "versions": 7, "drop": True}).versions == (7, 7)


@pytest.mark.parametrize("name", ["Fetch", "FETCH", "fetch", 1])
def test_apis_go_by_name_or_key(name: str | int) -> None:
    assert api_key(name) == 1


def test_names_of_several_words_go_in_kafka_s_two_spellings() -> None:
    assert api_key("JoinGroup") == api_key("JOIN_GROUP") == api_key("join-group") == 11
    assert error_code("not_coordinator") == error_code(16) == 16


@pytest.mark.parametrize(
    ("data", "field"),
    [
        ({}, "error"),
        ({"api": "Fetsch", "drop": True}, "api"),
        ({"api": [], "drop": True}, "api"),
        ({"api": "Fetch", "error": "OOPS"}, "error"),
        ({"api": "Fetch", "error": 0}, "error"),
        ({"api": "Fetch", "error": 12345}, "error"),
        ({"colour": "red"}, "colour"),
        ({"drop": "yes"}, "drop"),
        ({"drop": True, "count": 0}, "count"),
        ({"drop": True, "count": 1.5}, "count"),
        ({"drop": True, "nth": 0}, "nth"),
        ({"drop": True, "partition": -1}, "partition"),
        ({"drop": True, "client": 5}, "client"),
        ({"drop": True, "topic": ""}, "topic"),
        ({"drop": True, "probability": 0}, "probability"),
        ({"drop": True, "probability": 1.1}, "probability"),
        ({"drop": True, "probability": True}, "probability"),
        ({"drop": True, "versions": [5, 4]}, "versions"),
        ({"drop": True, "versions": "x"}, "versions"),
        ({"drop": True, "for_ms": 0}, "for_ms"),
        ({"drop": True, "after_ms": -1}, "after_ms"),
        ({"drop": True, "stage": "later"}, "stage"),
        ({"drop": True, "level": "top"}, "level"),
        ({"error": 6, "level": "middle"}, "level"),
        ({"delay_ms": -1}, "delay_ms"),
        ({"delay_ms": "soon"}, "delay_ms"),
        ({"delay_ms": {"low": 5, "high": 1}}, "delay_ms"),
        ({"delay_ms": {"mean": 5}}, "delay_ms"),
        ({"delay_ms": float("inf")}, "delay_ms"),
        ({"drop": True, "error": 6}, "error"),
        ({"drop": True, "reset": True}, "reset"),
        ({"disconnect": True, "truncate_at": 3}, "truncate_at"),
        ({"twice": True, "error": 6}, "twice"),
        ({"correlation_shift": 0}, "correlation_shift"),
        ({"latency_ms": 1, "drop": True}, "drop"),
        ({"latency_ms": 1, "api": "Fetch"}, "api"),
        ({"latency_ms": 1, "count": 1}, "count"),
        ({"latency_ms": 1, "probability": 0.5}, "probability"),
        ({"refuse": True, "client": "app"}, "client"),
        ({"break_handshake": True, "client": "app"}, "client"),
        ({"break_handshake": True, "certificate": "foreign"}, "certificate"),
        ({"certificate": "old"}, "certificate"),
        ({"certificate": "expired", "principal": "User:a"}, "principal"),
        ({"certificate": "expired", "connection": 1}, "connection"),
        ({"fail_login": True, "api": "SaslAuthenticate"}, "api"),
        ({"fail_login": True, "disconnect": True}, "disconnect"),
        ({"fail_login": True, "certificate": "expired"}, "fail_login"),
        ({"latency_ms": 1, "principal": "User:a"}, "principal"),
        ({"expire_token": True, "error": 6}, "error"),
        ({"revoke_acl": "EVERYTHING"}, "revoke_acl"),
        ({"break_handshake": True, "api": "Fetch"}, "api"),
        ({"slice_bytes": 0}, "slice_bytes"),
        ({"drop": True, "when": "after"}, "when"),
        ({"drop": True, "when": "clint == 'x'"}, "when"),
        ({"drop": True, "when": 5}, "when"),
        ({"observe": True, "drop": True}, "drop"),
        ({"latency_ms": 1, "when": "True"}, "when"),
        ({"drop": True, "maybe": 1}, "maybe"),
        ({"drop": True, "client": "\ud800"}, "client"),
    ],
)
def test_a_mistake_names_its_field(data: dict[str, object], field: str) -> None:
    with pytest.raises(FaultError) as caught:
        Fault.from_dict(data)
    assert caught.value.field == field
    assert str(caught.value).startswith(f"{field}: ")


def test_delays_are_drawn_as_they_say() -> None:
    rng = Random(1)
    assert Delay.parse("delay_ms", 5).draw(rng) == 5
    assert all(1 <= Delay(1, 2).draw(rng) <= 2 for _ in range(100))
    drawn = [Delay(mean=1, deviation=5).draw(rng) for _ in range(100)]
    assert min(drawn) == 0
    assert Delay.parse("delay_ms", Delay(1, 2)) == Delay(1, 2)


def test_an_unknown_field_is_told_the_nearest() -> None:
    with pytest.raises(FaultError, match="coumt: there is no such field; allowed: count"):
        Fault.from_dict({"drop": True, "coumt": 1})


def test_the_old_name_of_a_stage_is_told_the_new() -> None:
    with pytest.raises(FaultError, match="allowed: stage='after' for the stage"):
        Fault(drop=True, when="after")
