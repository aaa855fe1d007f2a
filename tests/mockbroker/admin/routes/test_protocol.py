"""What the broker speaks, over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.mockbroker.admin.routes.test_journal import ask

if TYPE_CHECKING:
    from tests.mockbroker.admin.conftest import Api


def test_apis_are_told_with_versions_and_how_often_they_were_used(api: Api) -> None:
    before = {one["name"]: one for one in api("GET", "/v1/protocol").body["apis"]}
    ask(api, "app")
    after = {one["name"]: one for one in api("GET", "/v1/protocol").body["apis"]}
    assert after["Metadata"]["requests"] > before["Metadata"]["requests"]
    assert (after["Fetch"]["key"], after["Fetch"]["max_version"]) == (1, 18)
    assert after["SaslHandshake"]["first_flexible"] is None


def test_errors_have_their_names(api: Api) -> None:
    errors = {one["code"]: one["name"] for one in api("GET", "/v1/protocol").body["errors"]}
    assert errors[0] == "NONE"
    assert errors[6] == "NOT_LEADER_OR_FOLLOWER"
