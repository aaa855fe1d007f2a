"""Records over HTTP."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from mockbroker import MockBroker
from mockbroker.admin.routes import records
from tests.mockbroker.admin.conftest import Api

if TYPE_CHECKING:
    import pytest

RECORDS = "/v1/topics/orders/records"


def put(api: Api, *values: str, **more: object) -> None:
    body = {"records": [{"value": value, **more} for value in values]}
    assert api("POST", RECORDS, body).status == 201


def test_what_was_put_is_read_with_all_its_parts(api: Api) -> None:
    record = {
        "value": "/wA=",
        "value_encoding": "base64",
        "key": "k",
        "headers": [{"name": "h", "value": "1"}, {"name": "null"}],
        "timestamp": 1_000,
        "partition": 2,
    }
    put_at = api("POST", RECORDS, {"records": [record]}).body["positions"]
    assert put_at == [{"partition": 2, "offset": 0, "timestamp": 1_000}]
    (found,) = api("GET", RECORDS).body["records"]
    assert found["value"] == "/wA="
    assert found["value_encoding"] == "base64"
    assert (found["key"], found["key_encoding"]) == ("k", "utf8")
    assert [(one["name"], one["value"]) for one in found["headers"]] == [("h", "1"), ("null", None)]


def test_pages_go_through_all_partitions(api: Api) -> None:
    for partition in range(3):
        put(api, "a", "b", "c", partition=partition)
    seen: list[tuple[int, int]] = []
    at: tuple[int, int] | None = (0, 0)
    while at is not None:
        page = api("GET", f"{RECORDS}?limit=2&partition={at[0]}&offset={at[1]}").body
        seen += [(one["partition"], one["offset"]) for one in page["records"]]
        following = page["next_partition"], page["next_offset"]
        at = None if None in following else following
    assert seen == [(index, at) for index in range(3) for at in range(3)]
    only = api("GET", f"{RECORDS}?partition=1&only=true").body["records"]
    assert {one["partition"] for one in only} == {1}


def test_deleting_leaves_nothing_to_read(api: Api) -> None:
    put(api, "a", "b", partition=0)
    assert api("DELETE", RECORDS).status == 204
    assert api("GET", RECORDS).body["records"] == []
    put(api, "c", partition=0)
    assert [one["offset"] for one in api("GET", RECORDS).body["records"]] == [2]


def test_a_wait_ends_with_the_record_that_was_missing(api: Api) -> None:
    answers = []
    body = {"count": 2, "timeout_ms": 20_000}
    waiting = threading.Thread(
        target=lambda: answers.append(api("POST", "/v1/topics/orders/wait", body))
    )
    put(api, "a")
    waiting.start()
    put(api, "b")
    waiting.join(30)
    assert [answer.body["met"] for answer in answers] == [True]


def test_a_wait_in_vain_says_what_there_is(api: Api) -> None:
    found = api("POST", "/v1/topics/orders/wait", {"count": 2, "timeout_ms": 1}).body
    assert found == {"met": False, "explanation": "topic orders holds 0 of 2 records"}
    assert "there is no topic" in api("POST", "/v1/topics/x/wait", {"timeout_ms": 1}).text


def test_bad_records_are_refused_whole(api: Api) -> None:
    good = {"value": "a"}
    for bad, field in (
        ({"value": "!", "value_encoding": "base64"}, "records.1.value"),
        ({"key": 1, "key_encoding": "base64"}, "records.1.key"),
        ({"value": "a", "partition": -1}, "records.1.partition"),
    ):
        assert api.problem("POST", RECORDS, {"records": [good, bad]})[::2] == (422, field)
    status, detail, _ = api.problem("POST", RECORDS, {"records": [{"value": "a", "partition": 9}]})
    assert (status, detail) == (409, "topic orders: there is no partition 9; allowed: 0 to 2")
    assert api("GET", RECORDS).body["records"] == []


def test_a_record_put_into_a_new_topic_waits_for_its_leader() -> None:
    with MockBroker(brokers=3, admin_port=0) as broker:
        answer = Api(broker)("POST", "/v1/topics/new/records", {"records": [{"value": "a"}]})
        assert (answer.status, answer.body["positions"][0]["offset"]) == (201, 0)


def test_a_new_topic_whose_leader_does_not_hear_of_it_is_a_conflict(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(records, "_LEADER_TIMEOUT_MS", 1)
    with MockBroker(brokers=3, admin_port=0) as broker:
        for node in (1, 2, 3):
            broker.cluster.hold_link(broker.cluster.CONTROLLER, node)
        status, detail, _ = Api(broker).problem(
            "POST", "/v1/topics/new/records", {"records": [{"value": "a"}]}
        )
        assert (status, "no broker leads partition 0" in detail) == (409, True)


def test_one_broker_tells_what_it_has_stored_also_when_it_is_down() -> None:
    with MockBroker(brokers=3, topics={"orders": 1}, admin_port=0) as broker:
        leader, follower, _ = broker.cluster.replicas("orders", 0)
        broker.topic("orders").put_all(["a", "b"])
        broker.cluster.wait_in_sync("orders", 0)
        broker.cluster.kill(follower)
        broker.topic("orders").put("c")
        api = Api(broker)
        kept = api("GET", f"{RECORDS}?node_id={follower}").body
        assert [one["value"] for one in kept["records"]] == ["a", "b"]
        page = api("GET", f"{RECORDS}?node_id={leader}&limit=1&offset=1").body
        assert ([one["value"] for one in page["records"]], page["next_offset"]) == (["b"], 2)
        assert api.problem("GET", f"{RECORDS}?node_id=9")[0] == 409


def test_records_are_written_as_in_a_file(api: Api) -> None:
    record = {"key": 7, "value": {"id": 7}, "headers": {"a": "b", "n": None}, "partition": 0}
    listed = {"value": "x", "headers": [{"name": "a", "value": [1]}], "partition": 0}
    wrong = {"value": {"id": 7}, "value_encoding": "base64"}
    answer = api("POST", "/v1/topics/orders/records", {"records": [record, listed]})
    assert answer.status == 201, answer
    first, second = api("GET", "/v1/topics/orders/records?partition=0").body["records"][-2:]
    assert (first["key"], first["value"]) == ("7", '{"id": 7}')
    assert [(one["name"], one["value"]) for one in first["headers"]] == [("a", "b"), ("n", None)]
    assert [one["value"] for one in second["headers"]] == ["[1]"]
    status, detail, field = api.problem("POST", "/v1/topics/orders/records", {"records": [wrong]})
    assert (status, detail, field) == (422, "records.0.value: it is not base64", "records.0.value")
