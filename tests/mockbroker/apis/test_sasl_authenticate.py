"""Tokens are answered, and a login that fails ends its connection."""

from __future__ import annotations

import pytest

from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.sasl import SaslAuthenticateRequest, SaslAuthenticateResponse
from tests.support.core import Core
from tests.support.logins import (
    ALICE,
    DELAY_MS,
    LISTENER,
    handshake,
    logged_in,
    login_core,
    token,
)

MAX = "connections.max.reauth.ms"
AFTER = "SaslAuthenticate request received after successful authentication"


@pytest.mark.parametrize("version", [0, 1, 2])
def test_a_login(version: int) -> None:
    core = login_core({MAX: "6000"})
    client = core.client(listener=LISTENER)
    handshake(client)
    lifetime_ms = 6000 if version else 0
    answered = SaslAuthenticateResponse(session_lifetime_ms=lifetime_ms)
    assert token(client, ALICE, version) == answered


@pytest.mark.parametrize("version", [0, 1, 2])
def test_a_wrong_password_is_told_late_and_the_connection_ends(version: int) -> None:
    core = login_core()
    client = core.client(listener=LISTENER)
    handshake(client)
    client.send(SaslAuthenticateRequest(b"\0alice\0wrong"), version)
    core.advance(DELAY_MS - 1)
    assert not client.answered
    core.advance(1)
    answer = client.receive(SaslAuthenticateResponse)
    assert (answer.error_code, answer.error_message) == (
        ErrorCode.SASL_AUTHENTICATION_FAILED,
        "Authentication failed: Invalid username or password",
    )
    assert client.closed


def test_a_delay_of_nothing_is_none() -> None:
    core = login_core({"connection.failed.authentication.delay.ms": "0"})
    client = core.client(listener=LISTENER)
    handshake(client)
    client.send(SaslAuthenticateRequest(b"\0alice\0wrong"), 2)
    core.advance(0)
    assert client.answered
    assert client.closed


def test_where_nobody_is_to_log_in_it_is_out_of_order() -> None:
    for client in (Core().client(), logged_in(login_core())):
        answer = token(client)
        assert (answer.error_code, answer.error_message) == (ErrorCode.ILLEGAL_SASL_STATE, AFTER)
        assert not client.closed
