"""Who sees which tokens."""

from __future__ import annotations

import pytest

from mockbroker.metadata.acls import Acl, ResourceType
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker.security.authorizer import STANDARD_AUTHORIZER
from mockbroker_protocol.messages.delegation_tokens import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
    TokenPrincipal,
)
from tests.support.delegation_tokens import HOUR_MS, create, described, token_core
from tests.support.logins import ADMIN, logged_in

ALICE, BOB = TokenPrincipal("User", "alice"), TokenPrincipal("User", "bob")
FOR_BOB = CreateDelegationTokenRequest("User", "bob", [], 1_000)


@pytest.mark.parametrize(
    ("owners", "told"),
    [
        (None, ["alice", "bob"]),
        ([], []),
        ([BOB], ["bob"]),
        ([ALICE], ["alice", "bob"]),
        ([ALICE, BOB], ["alice", "bob"]),
    ],
)
def test_tokens_of_owners_are_told(owners: list[TokenPrincipal] | None, told: list[str]) -> None:
    client = logged_in(token_core())
    made = create(client)
    create(client, FOR_BOB)
    request = DescribeDelegationTokenRequest(owners)
    answer = client.call(request, 3, DescribeDelegationTokenResponse)
    assert [token.principal_name for token in answer.tokens] == told
    if "alice" in told:
        token = answer.tokens[0]
        assert (token.token_id, token.hmac) == (made.token_id, made.hmac)
        assert token.token_requester_principal_name == "alice"


@pytest.mark.parametrize("version", [1, 2, 3])
def test_who_asked_for_a_token_of_another_sees_it_without_a_right(version: int) -> None:
    core = token_core(**{"authorizer.class.name": STANDARD_AUTHORIZER})
    alice, admin = logged_in(core), logged_in(core, ADMIN)
    may = AclOperation.CREATE_TOKENS
    acl = Acl(ResourceType.USER, "User:bob", 3, "User:alice", "*", may, 3)
    core.broker.services.controller.create_acls([acl])
    create(alice, FOR_BOB)
    for client, owners in ((alice, ["bob"]), (admin, [])):
        request = DescribeDelegationTokenRequest(None)
        answer = client.call(request, version, DescribeDelegationTokenResponse)
        assert [token.principal_name for token in answer.tokens] == owners


@pytest.mark.parametrize("version", [1, 2, 3])
def test_who_asked_is_told_where_the_version_has_that(version: int) -> None:
    client = logged_in(token_core())
    request = CreateDelegationTokenRequest(renewers=[], max_lifetime_ms=-1)
    made = client.call(request, version, CreateDelegationTokenResponse)
    answer = client.call(
        DescribeDelegationTokenRequest(None), version, DescribeDelegationTokenResponse
    )
    (token,) = answer.tokens
    asked = "alice" if version == 3 else ""
    assert (made.token_requester_principal_name, made.principal_name) == (asked, "alice")
    assert (token.token_requester_principal_name, token.principal_name) == (asked, "alice")


def test_a_token_is_gone_after_it_expired() -> None:
    core = token_core()
    client = logged_in(core)
    create(client, FOR_BOB)
    core.advance(2_000)
    assert len(described(client)) == 1
    core.advance(HOUR_MS)
    assert described(client) == []


def test_tokens_of_others_want_a_right() -> None:
    core = token_core(**{"authorizer.class.name": STANDARD_AUTHORIZER, "super.users": "User:admin"})
    admin, alice = logged_in(core, ADMIN), logged_in(core)
    of_bob = create(admin, FOR_BOB)
    renewed = create(admin, CreateDelegationTokenRequest(None, None, [ALICE], -1))
    own = create(alice)
    assert len(described(admin)) == 3
    assert [token.token_id for token in described(alice)] == [renewed.token_id, own.token_id]
    may = AclOperation.DESCRIBE_TOKENS
    acl = Acl(ResourceType.USER, "User:bob", 3, "User:alice", "*", may, 3)
    core.broker.services.controller.create_acls([acl])
    assert of_bob.token_id in [token.token_id for token in described(alice)]


@pytest.mark.parametrize(("key", "error"), [("a-key", 64), ("", 61)])
def test_who_is_told_nothing(key: str, error: int) -> None:
    core = token_core(**{"delegation.token.secret.key": key})
    client = core.client() if key else logged_in(core)
    request = DescribeDelegationTokenRequest(None)
    answer = client.call(request, 2, DescribeDelegationTokenResponse)
    assert answer == DescribeDelegationTokenResponse(error, [])
