"""Delegation tokens over HTTP."""

from __future__ import annotations

from base64 import b64decode
from typing import TYPE_CHECKING

import pytest

from mockbroker import MockBroker
from tests.mockbroker.admin.conftest import Api

if TYPE_CHECKING:
    from collections.abc import Iterator

PATH = "/v1/delegation-tokens"
CONFIG = {"delegation.token.secret.key": "a-key"}


@pytest.fixture(scope="module")
def with_key() -> Iterator[Api]:
    with MockBroker(config=CONFIG, admin_port=0, freeze_clock=True) as broker:
        yield Api(broker)


@pytest.fixture
def tokens(with_key: Api) -> Api:
    with_key.broker.reset()
    return with_key


def test_one_is_made_looked_at_and_ended(tokens: Api) -> None:
    made = tokens("POST", PATH, {"owner": "alice", "renewers": ["bob"], "lifetime_ms": 9})
    assert made.status == 201
    hmac = made.body.pop("hmac")
    assert len(b64decode(hmac)) == 64
    assert (made.body["owner"], made.body["renewers"]) == ("User:alice", ["User:bob"])
    assert made.body["expiry_ms"] - made.body["issue_ms"] == 9
    listed = tokens("GET", PATH)
    assert listed.body == {"delegation_tokens": [made.body], "next_cursor": None}
    assert tokens("GET", f"{PATH}?owner=bob").body["delegation_tokens"] == []
    assert tokens("POST", f"{PATH}/{made.body['token_id']}/expire", {}).status == 204
    assert tokens("GET", PATH).body["delegation_tokens"] == []


def test_they_come_in_pages(tokens: Api) -> None:
    made = {tokens("POST", PATH, {}).body["token_id"] for _ in range(3)}
    first = tokens("GET", f"{PATH}?limit=2").body
    rest = tokens("GET", f"{PATH}?limit=2&cursor={first['next_cursor']}").body
    pages = (*first["delegation_tokens"], *rest["delegation_tokens"])
    assert [one["token_id"] for one in pages] == sorted(made)


def test_one_that_has_expired_does_not_come_back(tokens: Api) -> None:
    token_id = tokens("POST", PATH, {"lifetime_ms": 5}).body["token_id"]
    expire = f"{PATH}/{token_id}/expire"
    assert tokens("POST", expire, {"after_ms": 3}).status == 204
    tokens.broker.clock.advance(4)
    detail = f"the delegation token {token_id!r} has expired"
    assert tokens.problem("POST", expire, {"after_ms": 3}) == (409, detail, "after_ms")


def test_one_that_is_not_there_is_told(tokens: Api) -> None:
    detail = "there is no delegation token 'x'"
    assert tokens.problem("POST", f"{PATH}/x/expire", {}) == (404, detail, "token_id")


def test_without_a_key_there_are_none(api: Api) -> None:
    status, detail, _ = api.problem("POST", PATH, {})
    assert (status, detail.rpartition(" ")[2]) == (422, "delegation.token.secret.key")
    assert api("GET", PATH).body["delegation_tokens"] == []
