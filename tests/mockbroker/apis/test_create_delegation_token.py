"""A token is a login for a while; who may have one, and how that is refused."""

from __future__ import annotations

import pytest

from mockbroker.metadata.acls import Acl, ResourceType
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker.security.authorizer import STANDARD_AUTHORIZER
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.delegation_tokens import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
    TokenPrincipal,
)
from tests.support.delegation_tokens import DAY_MS, create, token_core, token_login
from tests.support.logins import ADMIN, logged_in

FOR_BOB = CreateDelegationTokenRequest("User", "bob", [TokenPrincipal("User", "carol")], 1_000)


def test_a_client_logs_in_with_a_token_as_its_owner() -> None:
    core = token_core()
    made = create(logged_in(core))
    assert (made.error_code, made.principal_type, made.principal_name) == (0, "User", "alice")
    assert made.max_timestamp_ms - made.issue_timestamp_ms == 7 * DAY_MS
    assert (len(made.token_id), len(made.hmac)) == (22, 64)
    client, answer = token_login(core, made.token_id, made.hmac)
    assert answer.error_code == 0
    assert answer.session_lifetime_ms == made.expiry_timestamp_ms - core.cluster.clock.wall_ms()
    assert core.broker.connections()[-1].principal == "User:alice"
    again = create(client)
    assert again.error_code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED


def test_another_may_be_its_owner() -> None:
    core = token_core()
    made = create(logged_in(core, ADMIN), FOR_BOB)
    assert (made.error_code, made.principal_name) == (0, "bob")
    assert made.token_requester_principal_name == "admin"
    assert made.expiry_timestamp_ms - made.issue_timestamp_ms == 1_000
    token_login(core, made.token_id, made.hmac)
    assert core.broker.connections()[-1].principal == "User:bob"


@pytest.mark.parametrize("hmac", [b"wrong", b""])
def test_nobody_logs_in_with_the_id_alone(hmac: bytes) -> None:
    core = token_core()
    made = create(logged_in(core))
    _, answer = token_login(core, made.token_id, hmac)
    assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    _, answer = token_login(core, "unknown", made.hmac)
    assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED


def refused(error: int, requester: str, owner: str, times: int) -> CreateDelegationTokenResponse:
    whose = ("User", owner, "User", requester)
    return CreateDelegationTokenResponse(error, *whose, times, times, times)


def test_without_a_login_there_is_no_token() -> None:
    answer = create(token_core().client())
    assert answer == refused(64, "ANONYMOUS", "ANONYMOUS", -1)


def test_a_renewer_is_a_user() -> None:
    request = CreateDelegationTokenRequest(None, None, [TokenPrincipal("Group", "g")], -1)
    assert create(logged_in(token_core()), request) == refused(67, "alice", "alice", -1)


def test_without_a_secret_key_tokens_are_disabled() -> None:
    core = token_core(**{"delegation.token.secret.key": ""})
    assert create(logged_in(core)) == refused(61, "alice", "alice", 0)


def test_a_token_for_another_wants_a_right() -> None:
    core = token_core(**{"authorizer.class.name": STANDARD_AUTHORIZER, "super.users": "User:admin"})
    assert create(logged_in(core)).error_code == 0
    alice = logged_in(core)
    assert create(alice, FOR_BOB) == refused(65, "alice", "bob", -1)
    assert create(core.client(), FOR_BOB).error_code == 64
    assert create(logged_in(core, ADMIN), FOR_BOB).error_code == 0
    bob = (ResourceType.USER, "User:bob", 3, "User:alice", "*", AclOperation.CREATE_TOKENS, 3)
    core.broker.services.controller.create_acls([Acl(*bob)])
    assert create(alice, FOR_BOB).error_code == 0


def test_ids_repeat_with_the_seed_and_never_in_a_run() -> None:
    first, second = (
        [create(client).token_id for _ in range(3)]
        for client in (logged_in(token_core()), logged_in(token_core()))
    )
    assert first == second
    assert len(set(first)) == 3
