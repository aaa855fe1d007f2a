"""Reset and snapshots over HTTP."""

from __future__ import annotations

import http.client
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.mockbroker.admin.conftest import Api

RECORDS = "/v1/topics/orders/records"


def values(api: Api) -> list[str]:
    return [one["value"] for one in api("GET", RECORDS).body["records"]]


def test_a_snapshot_brings_back_what_was_there(api: Api) -> None:
    api("POST", RECORDS, {"records": [{"value": "a", "partition": 0}]})
    assert api("PUT", "/v1/snapshots/kept").body == {"name": "kept", "topics": ["orders"]}
    api("POST", RECORDS, {"records": [{"value": "b", "partition": 0}]})
    api("POST", "/v1/topics", {"name": "t"})
    assert api("POST", "/v1/snapshots/kept/restore").status == 204
    assert values(api) == ["a"]
    assert api.problem("GET", "/v1/topics/t")[0] == 404
    listed = api("GET", "/v1/snapshots").body["snapshots"]
    assert [one["name"] for one in listed] == ["kept"]
    assert api("DELETE", "/v1/snapshots/kept").status == 204
    assert api.problem("POST", "/v1/snapshots/kept/restore")[0] == 404


def test_a_reset_leaves_the_broker_as_it_started(api: Api) -> None:
    api("POST", RECORDS, {"records": [{"value": "a"}]})
    api("POST", "/v1/topics", {"name": "t"})
    api("PUT", "/v1/groups/g/offsets", {"offsets": [{"topic": "t", "partition": 0, "offset": 0}]})
    api("PATCH", "/v1/topics/orders", {"configs": {"segment.ms": "5"}})
    api("POST", "/v1/faults", {"rules": [{"api": "Fetch", "drop": True}]})
    api("POST", "/v1/clock/freeze")
    assert api("POST", "/v1/reset").status == 204
    topics = api("GET", "/v1/topics?internal=true").body["topics"]
    assert [(one["name"], one["partitions"], one["records"]) for one in topics] == [
        ("orders", 3, 0)
    ]
    assert api("GET", "/v1/topics/orders").body["configs"] == {}
    assert api("GET", "/v1/groups").body["groups"] == []
    assert api("GET", "/v1/faults").body["faults"] == []
    assert api("GET", "/v1/clock").body["frozen"] is False


def test_a_snapshot_s_file_goes_back_and_forth(api: Api) -> None:
    api("POST", "/v1/topics/orders/records", {"records": [{"value": "one"}]})
    connection = http.client.HTTPConnection(api.address, timeout=20)
    connection.request("GET", "/v1/snapshot-file")
    file = connection.getresponse().read()
    connection.close()
    api("DELETE", "/v1/topics/orders/records")
    headers = {"Content-Type": "application/octet-stream"}
    path = "/v1/snapshot-file/restore"
    assert api("POST", path, raw=b"no", headers=headers).status == 422
    assert api("POST", path, raw=file, headers=headers).status == 204
    assert [one.value for one in api.broker.topic("orders").records()] == [b"one"]


def test_a_snapshot_is_compared_with_now_and_with_another(api: Api) -> None:
    api("PUT", "/v1/snapshots/kept")
    assert api("GET", "/v1/snapshots/kept/differences").body == {"differences": []}
    api("POST", "/v1/topics/orders/records", {"records": [{"value": "a", "partition": 0}]})
    found = api("GET", "/v1/snapshots/kept/differences").body["differences"]
    assert ("orders", 0, "log_end_offset", "0", "1") in [tuple(one.values()) for one in found]
    assert api("GET", "/v1/snapshots/kept/differences?other=kept").body["differences"] == []
    assert api.problem("GET", "/v1/snapshots/none/differences")[0] == 404
