"""A slash in a name parts no path."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from mockbroker.admin.names import with_whole_names

if TYPE_CHECKING:
    from tests.mockbroker.admin.conftest import Api

NAMES = ("team/billing", "/", "billing/sharing", "a%2Fb", "é/ü", "</script>")


@pytest.mark.parametrize("name", NAMES)
def test_a_group_is_found_by_its_name(api: Api, name: str) -> None:
    path = f"/v1/groups/{quote(name, safe='')}"
    wanted = {"offsets": [{"topic": "orders", "partition": 0, "offset": 0}]}
    assert api("PUT", f"{path}/offsets", wanted).status == 200
    assert api("GET", path).body["group_id"] == name
    assert api("DELETE", path).status == 204
    assert api.problem("GET", path)[0] == 404


@pytest.mark.parametrize("name", NAMES)
def test_snapshots_and_rules_too(api: Api, name: str) -> None:
    at = quote(name, safe="")
    assert api("PUT", f"/v1/snapshots/{at}").status < 300
    assert api("POST", f"/v1/snapshots/{at}/restore").status == 204
    assert api("DELETE", f"/v1/snapshots/{at}").status == 204
    rule = {"id": name, "api": "Fetch", "delay_ms": 1, "maybe": True}
    assert api("POST", "/v1/faults", {"rules": [rule]}).status < 300
    assert api("GET", f"/v1/faults/{at}").body["id"] == name
    assert api("DELETE", f"/v1/faults/{at}").status == 204


def test_what_is_not_there_is_told_by_its_name(api: Api) -> None:
    for kind in ("groups", "topics", "transactions", "faults"):
        status, detail = api.problem("GET", f"/v1/{kind}/a%2Fb")[:2]
        assert (status, "a/b" in detail) == (404, True), kind
    assert api.problem("GET", "/v1/nothing/a%2Fb")[0] == 404


def test_a_path_without_such_a_name_is_as_it_was() -> None:
    for raw in (b"/v1/topics/orders", b"/console/..%2fassets.py", b""):
        scope = {"type": "http", "path": "/as/it/was", "raw_path": raw}
        assert with_whole_names(scope) is scope
    assert with_whole_names({"type": "http", "path": "/as/it/was"})["path"] == "/as/it/was"
