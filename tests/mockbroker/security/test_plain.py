"""PLAIN answers as Kafka does; strangers and users with a wrong password are told the same."""

from __future__ import annotations

import pytest

from mockbroker.config.jaas import parse_jaas
from mockbroker.security.mechanism import SaslAuthenticationError
from mockbroker.security.plain import PlainServer
from tests.support.logins import USERS

INVALID = "Authentication failed: Invalid username or password"
OTHER = (
    "Authentication failed: Client requested an authorization id that is different from username"
)


def server(text: str = USERS) -> PlainServer:
    return PlainServer(parse_jaas(text))


@pytest.mark.parametrize("token", [b"\0alice\0alice-secret", b"alice\0alice\0alice-secret"])
def test_a_user_with_the_right_password_is_known(token: bytes) -> None:
    exchange = server()
    assert exchange.evaluate(token) == b""
    assert (exchange.complete, exchange.authorization_id) == (True, "alice")


@pytest.mark.parametrize(
    ("token", "told"),
    [
        (b"", "Invalid SASL/PLAIN response: expected 3 tokens, got 1"),
        (b"alice\0alice-secret", "Invalid SASL/PLAIN response: expected 3 tokens, got 2"),
        (b"a\0b\0c\0d\0e", "Invalid SASL/PLAIN response: expected 3 tokens, got 4"),
        (b"\0\0x", "Authentication failed: username not specified"),
        (b"\0alice\0", "Authentication failed: password not specified"),
        (b"\0alice\0alice-secre", INVALID),
        (b"\0bob\0alice-secret", INVALID),
        (b"admin\0alice\0wrong", INVALID),
        (b"admin\0alice\0alice-secret", OTHER),
        (b"\0\xff\xfe\0\xff", INVALID),
    ],
)
def test_what_a_client_is_told(token: bytes, told: str) -> None:
    exchange = server()
    with pytest.raises(SaslAuthenticationError) as error:
        exchange.evaluate(token)
    assert str(error.value) == told
    assert not exchange.complete


def test_users_of_another_module_are_none() -> None:
    for exchange in (server(USERS.replace("PlainLogin", "OtherLogin")), PlainServer(None)):
        with pytest.raises(SaslAuthenticationError, match="Invalid username or password"):
            exchange.evaluate(b"\0alice\0alice-secret")


def test_a_stranger_has_no_password() -> None:
    with pytest.raises(SaslAuthenticationError, match="Invalid username or password"):
        server().evaluate("\0bob\0\ufffd".encode())
