"""Rows of requests over HTTP, and one request with its bytes."""

from __future__ import annotations

from base64 import b64decode
from typing import TYPE_CHECKING, Any

from tests.mockbroker.admin.routes.test_journal import ask

if TYPE_CHECKING:
    from tests.mockbroker.admin.conftest import Api


def rows(api: Api, query: str = "") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = api("GET", f"/v1/journal/rows{query}").body["rows"]
    return found


def test_rows_come_behind_a_cursor_and_fit_filters(api: Api) -> None:
    since = api("GET", "/v1/journal/cursor").body["cursor"]
    ask(api, "first")
    ask(api, "second")
    page = api("GET", f"/v1/journal/rows?since={since}&limit=1").body
    assert page["more"]
    assert page["next_cursor"] == page["rows"][0]["number"] == since + 1
    found = rows(api, f"?since={since}&api=Metadata&client=sec*&topic=orders")
    assert {(one["client_id"], one["topics"][0], one["cause"]) for one in found} == {
        ("second", "orders", "immediate")
    }
    end = api("GET", f"/v1/journal/rows?since={since}").body
    assert not end["more"]
    assert api("GET", f"/v1/journal/rows?since={end['next_cursor']}").body["rows"] == []


def test_a_page_ends_when_it_took_long(api: Api) -> None:
    ask(api, "slow")
    page = api("GET", "/v1/journal/rows?budget_ms=0.000001").body
    assert len(page["rows"]) == 1
    assert page["more"]


def test_a_cursor_of_a_broker_that_was_before_begins_anew(api: Api) -> None:
    page = api("GET", "/v1/journal/rows?since=999999999").body
    assert page["next_cursor"] == api("GET", "/v1/journal/cursor").body["cursor"]


def test_a_request_is_told_field_by_field_with_its_bytes(api: Api) -> None:
    since = api("GET", "/v1/journal/cursor").body["cursor"]
    ask(api, "told")
    (row, *_) = rows(api, f"?since={since}&api=Metadata&topic=orders")
    found = api("GET", f"/v1/journal/requests/{row['number']}").body
    assert found["row"] == row
    assert found["line"]["api"] == "Metadata"
    data = b64decode(found["request"]["data"])
    assert len(data) == found["request"]["size_bytes"] == row["request_bytes"]
    (name,) = [one for one in found["request"]["fields"] if one["value"] == "orders"]
    assert b"orders" in data[name["start"] : name["end"]]
    assert found["response"]["name"] == "MetadataResponse"
    assert api.problem("GET", "/v1/journal/requests/999999999")[0] == 404


def test_the_request_that_wrote_a_record_is_found(api: Api) -> None:
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": api.broker.bootstrap_servers})
    for value in ("a", "b"):
        producer.produce("orders", value, partition=1)
        producer.flush(20)
    written = rows(api, "?api=Produce&topic=orders")
    found = api("GET", "/v1/journal/writer?topic=orders&partition=1&offset=1").body
    assert found == {"number": written[-1]["number"]}
    none = api("GET", "/v1/journal/writer?topic=orders&partition=1&offset=7").body
    assert none == {"number": None}
