"""Faults over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confluent_kafka import Producer

if TYPE_CHECKING:
    from tests.mockbroker.admin.conftest import Api


def arm(api: Api, *rules: dict[str, object]) -> list[str]:
    answer = api("POST", "/v1/faults", {"rules": list(rules)})
    assert answer.status == 201, answer
    return [one["id"] for one in answer.body["faults"]]


def test_a_rule_fires_for_a_client_and_counts_its_hits(api: Api) -> None:
    (fault,) = arm(api, {"api": "Produce", "error": "NOT_LEADER_OR_FOLLOWER", "count": 2})
    producer = Producer(
        {"bootstrap.servers": api.broker.bootstrap_servers, "retry.backoff.ms": 1, "linger.ms": 0}
    )
    producer.produce("orders", b"a")
    assert producer.flush(20) == 0
    shown = api("GET", f"/v1/faults/{fault}").body
    assert (shown["hits"], shown["exhausted"]) == (2, True)


def test_rules_are_armed_all_or_none(api: Api) -> None:
    good: dict[str, object] = {"api": "Fetch", "drop": True}
    status, detail, field = api.problem(
        "POST", "/v1/faults", {"rules": [good, {"api": "Fetch", "error": "NO_SUCH"}]}
    )
    assert (status, field) == (422, "error")
    assert "NO_SUCH" in detail
    assert api("GET", "/v1/faults").body["faults"] == []


def test_presets_are_listed_and_armed(api: Api) -> None:
    presets = api("GET", "/v1/fault-presets").body["presets"]
    assert all(presets.values())
    ids = arm(api, {"preset": "leader_moved", "topic": "orders"})
    rules = [api("GET", f"/v1/faults/{one}").body["rule"] for one in ids]
    assert [(rule["api"], rule["topic"]) for rule in rules] == [
        ("Produce", "orders"),
        ("Fetch", "orders"),
    ]
    assert api.problem("POST", "/v1/faults", {"rules": [{"preset": "x"}]})[::2] == (422, "preset")


def test_rules_are_removed_released_and_cleared(api: Api) -> None:
    first, second = arm(api, {"api": "Fetch", "park": True}, {"api": "Produce", "drop": True})
    assert api("POST", f"/v1/faults/{first}/release").body == {"released": 0}
    assert api("DELETE", f"/v1/faults/{first}").status == 204
    assert api.problem("DELETE", f"/v1/faults/{first}")[0] == 404
    assert [one["id"] for one in api("GET", "/v1/faults").body["faults"]] == [second]
    assert api("DELETE", "/v1/faults").status == 204
    assert api("GET", "/v1/faults").body["faults"] == []


def test_hits_are_waited_for(api: Api) -> None:
    (fault,) = arm(api, {"api": "Metadata", "observe": True, "when": "version >= 1"})
    vain = api("POST", f"/v1/faults/{fault}/wait", {"timeout_ms": 1}).body
    assert vain["met"] is False
    assert vain["explanation"].startswith(f"0 of 1 hit(s) of fault {fault}: none of ")
    Producer({"bootstrap.servers": api.broker.bootstrap_servers}).list_topics(timeout=20)
    assert api("POST", f"/v1/faults/{fault}/wait", {"timeout_ms": 20_000}).body["met"]
    assert api.problem("POST", "/v1/faults/x/wait", {})[0] == 404


def test_a_condition_is_an_expression(api: Api) -> None:
    rule: dict[str, object] = {"api": "Produce", "drop": True, "when": "body.acks =="}
    status, detail, field = api.problem("POST", "/v1/faults", {"rules": [rule]})
    assert (status, field) == (422, "when")
    assert "cannot be read" in detail
    arm(api, {"api": "Metadata", "observe": True, "when": "body.acks == 1"})
    Producer({"bootstrap.servers": api.broker.bootstrap_servers}).list_topics(timeout=20)
    (shown,) = api("GET", "/v1/faults").body["faults"]
    assert shown["problem"].startswith("MetadataRequest has no 'acks'")


def test_a_verdict_tells_each_silent_rule_once(api: Api) -> None:
    api("POST", "/v1/verify", {})
    excused: dict[str, object] = {"api": "Fetch", "drop": True, "maybe": True}
    silent, _ = arm(api, {"api": "Fetch", "drop": True}, excused)
    found = api("POST", "/v1/verify", {}).body
    assert (found["clean"], [one["id"] for one in found["unfired"]]) == (False, [silent])
    assert f"{silent} (api='Fetch', drop=True) never fired" in found["text"]
    again = {"clean": True, "unfired": [], "refused": [], "text": "nothing is wrong"}
    assert api("POST", "/v1/verify", {"strict": True}).body == again


def test_verify_takes_away_some_rules_and_spares_others(api: Api) -> None:
    rules = [{"api": "Fetch", "drop": True, "id": one} for one in ("a", "b", "c")]
    api("POST", "/v1/faults", {"rules": rules})
    told = api("POST", "/v1/verify", {"rules": ["a"]}).body
    assert [one["id"] for one in told["unfired"]] == ["a"]
    assert [one["id"] for one in api("GET", "/v1/faults").body["faults"]] == ["b", "c"]
    told = api("POST", "/v1/verify", {"spared": ["b"]}).body
    assert [one["id"] for one in told["unfired"]] == ["c"]
    api("POST", "/v1/verify", {"rules": ["b"]})
