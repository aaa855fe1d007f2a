"""Sessions and waits over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from confluent_kafka import Consumer

if TYPE_CHECKING:
    from tests.mockbroker.admin.conftest import Api


def test_a_consumer_that_waits_is_told_with_its_session(api: Api) -> None:
    consumer = Consumer(
        {
            "bootstrap.servers": api.broker.bootstrap_servers,
            "group.id": "readers",
            "client.id": "reader",
            "fetch.wait.max.ms": 60_000,
            "socket.timeout.ms": 90_000,
        }
    )
    consumer.subscribe(["orders"])
    try:
        wait = waiting(api, consumer)
        assert (wait["client_id"], wait["broker"]) == ("reader", 1)
        assert wait["until_ms"] > wait["since_ms"]
        assert "max_wait_ms is over" in wait["wakes"]
        found = api("GET", "/v1/fetch-sessions").body
        assert found["brokers"][0]["broker"] == 1
        for session in found["sessions"]:
            listed = api("GET", f"/v1/fetch-sessions/1/{session['session_id']}").body["partitions"]
            assert {one["topic"] for one in listed} <= {"orders"}
            assert len(listed) == session["partitions"]
    finally:
        consumer.close()


def waiting(api: Api, consumer: Consumer) -> dict[str, Any]:
    for _ in range(400):
        consumer.poll(0.05)
        for wait in api("GET", "/v1/waits").body["waits"]:
            if wait["api"] == "Fetch":
                found: dict[str, Any] = wait
                return found
    raise AssertionError("no fetch waits")


def test_a_session_that_there_is_not_is_a_problem(api: Api) -> None:
    assert api.problem("GET", "/v1/fetch-sessions/1/77") == (
        404, "broker 1 has no session 77", "session_id"
    )  # fmt: skip
