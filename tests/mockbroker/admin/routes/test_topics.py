"""Topics over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.mockbroker.admin.conftest import Api


def test_a_topic_is_made_seen_changed_and_deleted(api: Api) -> None:
    wanted = {"name": "t", "partitions": 2, "configs": {"retention.ms": "60000"}}
    made = api("POST", "/v1/topics", wanted)
    assert made.status == 201
    assert made.body["configs"] == {"retention.ms": "60000"}
    assert [one["high_watermark"] for one in made.body["partition_list"]] == [0, 0]
    changed = api(
        "PATCH",
        "/v1/topics/t",
        {"partitions": 4, "configs": {"retention.ms": None, "segment.ms": "5"}},
    )
    assert changed.body["partitions"] == 4
    assert changed.body["configs"] == {"segment.ms": "5"}
    assert api("DELETE", "/v1/topics/t").status == 204
    assert api.problem("GET", "/v1/topics/t") == (
        404,
        "there is no topic 't'; topics: orders",
        "name",
    )


def test_records_and_offsets_are_told_also_of_what_was_never_written_to(api: Api) -> None:
    api("POST", "/v1/topics", {"name": "t", "partitions": 2})
    api("POST", "/v1/topics/t/records", {"records": [{"value": "a", "partition": 1}]})
    topic = api("GET", "/v1/topics/t").body
    assert (topic["partitions"], topic["replication_factor"], topic["records"]) == (2, 1, 1)
    empty, full = topic["partition_list"]
    assert (empty["leader"], empty["log_end_offset"], empty["size_bytes"]) == (1, 0, 0)
    assert (full["high_watermark"], full["log_end_offset"]) == (1, 1)
    assert full["size_bytes"] > 0


def test_a_change_is_made_whole_or_not_at_all(api: Api) -> None:
    status, detail, _ = api.problem(
        "PATCH", "/v1/topics/orders", {"partitions": 2, "configs": {"segment.ms": "5"}}
    )
    assert status == 409
    assert "orders" in detail
    assert api("GET", "/v1/topics/orders").body["configs"] == {}


def test_a_list_comes_in_pages_and_by_prefix(api: Api) -> None:
    for name in ("a.1", "a.2", "a.3", "b"):
        api("POST", "/v1/topics", {"name": name})
    first = api("GET", "/v1/topics?prefix=a.&limit=2").body
    assert [topic["name"] for topic in first["topics"]] == ["a.1", "a.2"]
    second = api("GET", f"/v1/topics?prefix=a.&limit=2&cursor={first['next_cursor']}").body
    assert [topic["name"] for topic in second["topics"]] == ["a.3"]
    assert second["next_cursor"] is None


def test_what_is_wrong_is_named(api: Api) -> None:
    assert api.problem("POST", "/v1/topics", {"name": "orders"})[0] == 409
    assert api.problem("POST", "/v1/topics", {"name": "t", "partitions": 0})[::2] == (
        422,
        "partitions",
    )
    assert api.problem("POST", "/v1/topics", {"name": "t", "colour": 1})[::2] == (422, "colour")
    assert api.problem("POST", "/v1/topics", {})[::2] == (422, "name")
    assert api.problem("GET", "/v1/topics?cursor=%C3%A4")[::2] == (422, "cursor")
    bad = {"name": "t", "configs": {"retention.ms": "soon"}}
    assert "retention.ms" in api.problem("POST", "/v1/topics", bad)[1]


def test_the_coordinators_topics_are_listed_when_asked_for(api: Api) -> None:
    api("PUT", "/v1/groups/g/offsets", {"offsets": [_offset(0)]})
    assert "__consumer_offsets" not in api("GET", "/v1/topics").text
    assert "__consumer_offsets" in api("GET", "/v1/topics?internal=true").text


def _offset(offset: int) -> dict[str, object]:
    return {"topic": "orders", "partition": 0, "offset": offset}
