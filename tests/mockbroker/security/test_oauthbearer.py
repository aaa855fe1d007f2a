"""A token lets a client in; one that is not valid is told with a status before the login fails."""

from __future__ import annotations

import pytest

from mockbroker.security.mechanism import SaslAuthenticationError, SaslError
from mockbroker.security.oauthbearer import OAuthBearerServer
from mockbroker.security.unsecured_jws import validate
from tests.support.logins import bearer, bearer_token

NOW_MS = 1_700_000_000_000
NOW = NOW_MS // 1000
GOOD = bearer_token("alice", NOW, NOW + 60)
LATE = bearer_token("alice", NOW - 60, NOW - 1)


def server(options: dict[str, str] | None = None) -> OAuthBearerServer:
    return OAuthBearerServer(lambda token: validate(token, options or {}, NOW_MS))


@pytest.mark.parametrize(
    "token",
    [
        bearer(GOOD),
        bearer(GOOD, authzid="a=alice"),
        bearer(GOOD, extensions="traceId=123\x01"),
        bearer(GOOD).replace(b"Bearer", b"bearer  "),
    ],
)
def test_a_valid_token_says_who_and_until_when(token: bytes) -> None:
    exchange = server()
    assert exchange.evaluate(token) == b""
    assert (exchange.complete, exchange.authorization_id) == (True, "alice")
    assert exchange.expires_wall_ms == NOW_MS + 60_000


@pytest.mark.parametrize(
    ("options", "token", "status"),
    [
        ({}, LATE, b'{"status":"invalid_token"}'),
        (
            {"unsecuredValidatorRequiredScope": "a b"},
            GOOD,
            b'{"status":"insufficient_scope", "scope":"[a, b]"}',
        ),
    ],
)
def test_what_is_wrong_is_told_and_then_the_login_fails(
    options: dict[str, str], token: str, status: bytes
) -> None:
    exchange = server(options)
    assert exchange.evaluate(bearer(token)) == status
    assert not exchange.complete
    with pytest.raises(SaslAuthenticationError) as told:
        exchange.evaluate(b"\x01")
    assert str(told.value) == status.decode()


def test_a_client_may_show_another_token_after_an_invalid_one() -> None:
    exchange = server()
    exchange.evaluate(bearer(LATE))
    assert exchange.evaluate(bearer(GOOD)) == b""
    assert exchange.complete


def test_nobody_is_somebody_else() -> None:
    with pytest.raises(SaslAuthenticationError) as told:
        server().evaluate(bearer(GOOD, authzid="a=bob"))
    assert str(told.value) == (
        "Authentication failed: Client requested an authorization id (bob) that is different "
        "from the token's principal name (alice)"
    )


@pytest.mark.parametrize(
    "token",
    [
        b"",
        b"\x01",
        b"n,,",
        b"n,,\x01\x01",
        b"n,,\x01auth=Basic x\x01\x01",
        b"y,,\x01auth=Bearer x\x01\x01",
    ],
)
def test_what_is_no_message_of_the_mechanism(token: bytes) -> None:
    exchange = server()
    with pytest.raises(SaslError):
        exchange.evaluate(token)
    assert not exchange.complete


def test_extensions_that_are_wanted_have_to_be_there() -> None:
    exchange = OAuthBearerServer(lambda token: validate(token, {}, NOW_MS), ["pool", "cluster"])
    with pytest.raises(SaslAuthenticationError) as told:
        exchange.evaluate(bearer(GOOD, extensions="cluster=x\x01"))
    assert str(told.value) == (
        "Authentication failed: 1 extensions are invalid! They are: pool: it is required"
    )
    exchange.evaluate(bearer(GOOD, extensions="cluster=x\x01pool=y\x01"))
    assert exchange.complete


def test_the_log_is_told_why_a_token_is_not_valid() -> None:
    exchange = server()
    exchange.evaluate(bearer(LATE))
    with pytest.raises(SaslAuthenticationError) as told:
        exchange.evaluate(b"\x01")
    assert "It expired at" in (told.value.detail or "")
