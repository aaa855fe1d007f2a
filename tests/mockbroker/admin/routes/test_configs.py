"""Configs over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.mockbroker.admin.conftest import Api


def test_configs_are_told_with_where_they_come_from(api: Api) -> None:
    found = api("GET", "/v1/configs").body
    assert found["node_id"] == 1
    configs = {one["name"]: one for one in found["configs"]}
    assert configs["log.retention.hours"]["source"] == "DEFAULT_CONFIG"
    assert configs["log.retention.hours"]["value"] == "168"
    assert all(one["value"] is None for one in found["configs"] if one["sensitive"])
    assert api("GET", "/v1/configs?node_id=1").body == found
    assert api.problem("GET", "/v1/configs?node_id=9")[0] == 404
