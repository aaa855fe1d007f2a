"""Scopes over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker.admin.routes import scopes
from mockbroker.state.scope import Scope

if TYPE_CHECKING:
    from tests.mockbroker.admin.conftest import Api


def begin(api: Api) -> str:
    return f"/v1/scopes/{api('POST', '/v1/scopes').body['id']}"


def test_what_is_done_in_a_scope_is_taken_back(api: Api) -> None:
    orders = api.broker.topic("orders")
    orders.put("kept", partition=0)
    outer = begin(api)
    inner = begin(api)
    orders.put("gone", partition=0)
    api.broker.clock.freeze()
    assert api("DELETE", outer).status == 204
    assert [one.value for one in orders.records()] == [b"kept"]
    assert not api.broker.clock.frozen
    assert api.problem("DELETE", inner)[0] == 404


def test_open_scopes_are_listed_with_what_the_last_end_left(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    outer, inner = begin(api), begin(api)
    ids = [{"id": int(one.rpartition("/")[2])} for one in (outer, inner)]
    assert api("GET", "/v1/scopes").body == {"scopes": ids, "left_over": []}
    monkeypatch.setattr(Scope, "left_over", lambda _: ("something",))
    assert api("DELETE", inner).status == 204
    assert api("GET", "/v1/scopes").body == {"scopes": ids[:1], "left_over": ["something"]}
    assert api("POST", "/v1/reset").status == 204
    assert api("GET", "/v1/scopes").body == {"scopes": [], "left_over": ["something"]}


def test_a_reset_ends_all_and_there_is_a_most(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scopes, "MAX_SCOPES", 1)
    first = begin(api)
    assert api.problem("POST", "/v1/scopes")[0] == 409
    api.broker.reset()
    assert api.problem("DELETE", first) == (404, f"there is no open scope {first[11:]}", "scope_id")
    assert api("DELETE", begin(api)).status == 204
