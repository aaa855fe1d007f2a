"""A token ends: nobody logs in with it any more, and sessions end when it would have."""

from __future__ import annotations

from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.delegation_tokens import (
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
)
from mockbroker_protocol.messages.metadata import MetadataRequest, MetadataResponse
from tests.support.delegation_tokens import create, token_core, token_login
from tests.support.logins import logged_in


def test_a_token_that_is_ended_is_no_login() -> None:
    core = token_core()
    alice = logged_in(core)
    made = create(alice)
    request = ExpireDelegationTokenRequest(made.hmac, -1)
    answer = alice.call(request, 2, ExpireDelegationTokenResponse)
    assert answer == ExpireDelegationTokenResponse(0, core.cluster.clock.wall_ms())
    _, login = token_login(core, made.token_id, made.hmac)
    assert login.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    again = alice.call(request, 2, ExpireDelegationTokenResponse)
    assert again.error_code == ErrorCode.DELEGATION_TOKEN_NOT_FOUND


def test_a_session_ends_with_its_token() -> None:
    core = token_core()
    alice = logged_in(core)
    made = create(alice)
    request = ExpireDelegationTokenRequest(made.hmac, 5_000)
    alice.call(request, 1, ExpireDelegationTokenResponse)
    client, login = token_login(core, made.token_id, made.hmac)
    assert login.session_lifetime_ms == 5_000
    assert client.call(MetadataRequest([]), 9, MetadataResponse).brokers
    core.advance(5_001)
    client.send(MetadataRequest([]), 9)
    assert client.closed


def test_without_a_login_nothing_is_ended() -> None:
    request = ExpireDelegationTokenRequest(b"x", -1)
    answer = token_core().client().call(request, 1, ExpireDelegationTokenResponse)
    refused = ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    assert answer == ExpireDelegationTokenResponse(refused, -1)
