"""Server-sent events."""

from __future__ import annotations

import http.client
import json
from typing import TYPE_CHECKING, Any

from confluent_kafka.admin import AdminClient

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mockbroker.journal import Journal
    from tests.mockbroker.admin.conftest import Api


class Follower:
    """Reads one stream."""

    def __init__(self, api: Api, query: str, headers: dict[str, str] | None = None) -> None:
        self._connection = http.client.HTTPConnection(api.address, timeout=20)
        self._connection.request("GET", f"/v1/events{query}", headers=headers or {})
        self._answer = self._connection.getresponse()
        assert self._answer.status == 200
        assert self._answer.headers["Content-Type"].startswith("text/event-stream")
        self.events = self._read()
        assert self._answer.readline() == b": hello\n"

    def _read(self) -> Iterator[tuple[int, str, Any]]:
        at, kind = -1, ""
        for line in self._answer:
            name, _, value = line.decode().strip().partition(": ")
            if name == "id":
                at = int(value)
            elif name == "event":
                kind = value
            elif name == "data":
                yield at, kind, json.loads(value)

    def close(self) -> None:
        self._answer.close()
        self._connection.close()


def test_topics_and_groups_are_told_as_they_change(api: Api) -> None:
    follower = Follower(api, "?kinds=topic,group")
    try:
        api("POST", "/v1/topics", {"name": "t"})
        _, kind, data = next(follower.events)
        assert (kind, data["name"], data["action"]) == ("topic", "t", "appeared")
        at = {"topic": "t", "partition": 0, "offset": 0}
        api("PUT", "/v1/groups/g/offsets", {"offsets": [at]})
        _, kind, data = next(follower.events)
        assert (kind, data["name"], data["state"]) == ("group", "g", "Empty")
        api("DELETE", "/v1/topics/t")
        assert {next(follower.events)[2]["action"] for _ in range(1)} == {"gone"}
    finally:
        follower.close()


def test_requests_are_told_and_told_again_after_a_break(api: Api) -> None:
    follower = Follower(api, "?kinds=request")
    client = AdminClient({"bootstrap.servers": api.broker.bootstrap_servers, "client.id": "sse"})
    client.list_topics(timeout=20)
    first, kind, data = next(follower.events)
    assert (kind, data["kind"], data["client_id"]) == ("request", "request", "sse")
    second, _, after = next(follower.events)
    follower.close()
    again = Follower(api, "?kinds=request", {"Last-Event-ID": str(first)})
    assert next(again.events) == (second, "request", after)
    again.close()


def test_nothing_listens_once_the_reader_has_gone(api: Api) -> None:
    follower = Follower(api, "?kinds=request,topic")
    journal = api.broker._bridged().running.journal
    assert journal.wants_requests
    follower.close()
    for _ in range(1000):
        if not _wants(journal):
            break
        api("POST", "/v1/topics/orders/records", {"records": [{"value": "wake"}]})
    assert not _wants(journal)


def _wants(journal: Journal) -> bool:
    return journal.wants_requests


def test_an_unknown_kind_is_named(api: Api) -> None:
    status, detail, field = api.problem("GET", "/v1/events?kinds=topic,colour")
    assert (status, field) == (422, "kinds")
    assert "colour" in detail
