"""A token lives longer, and the session of who logs in with it too."""

from __future__ import annotations

from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.delegation_tokens import (
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
)
from tests.support.delegation_tokens import DAY_MS, HOUR_MS, create, token_core, token_login
from tests.support.logins import ADMIN, logged_in


def test_a_token_is_renewed_by_its_owner() -> None:
    core = token_core()
    alice = logged_in(core)
    made = create(alice)
    core.advance(HOUR_MS)
    request = RenewDelegationTokenRequest(made.hmac, -1)
    answer = alice.call(request, 2, RenewDelegationTokenResponse)
    assert answer == RenewDelegationTokenResponse(0, core.cluster.clock.wall_ms() + DAY_MS)
    _, login = token_login(core, made.token_id, made.hmac)
    assert login.session_lifetime_ms == DAY_MS
    admin = logged_in(core, ADMIN)
    mismatch = ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH
    assert admin.call(request, 2, RenewDelegationTokenResponse).error_code == mismatch


def test_without_a_login_nothing_is_renewed() -> None:
    request = RenewDelegationTokenRequest(b"x", -1)
    answer = token_core().client().call(request, 1, RenewDelegationTokenResponse)
    refused = ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    assert answer == RenewDelegationTokenResponse(refused, -1)
