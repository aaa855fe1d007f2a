"""Who may ask for tokens."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from mockbroker.config.broker import BrokerConfig
from mockbroker.security.token_requests import (
    ANONYMOUS,
    may_ask_for_tokens,
    parts_of,
    principal_of,
)

if TYPE_CHECKING:
    from mockbroker.security.authenticator import Authenticator

ALICE = "User:alice"
LISTENERS = BrokerConfig(
    {"listener.security.protocol.map": "P:PLAINTEXT,S:SSL,L:SASL_PLAINTEXT,B:SASL_SSL"}
)


@pytest.mark.parametrize(
    ("listener", "principal", "by_token", "allowed"),
    [
        ("P", ALICE, None, False),
        ("S", ANONYMOUS, None, False),
        ("S", ALICE, None, True),
        ("L", ALICE, False, True),
        ("B", ALICE, False, True),
        ("B", ALICE, True, False),
    ],
)
def test_those_with_a_login_of_their_own(
    listener: str, principal: str, by_token: bool | None, allowed: bool
) -> None:
    login = None if by_token is None else SimpleNamespace(by_token=by_token)
    known = cast("Authenticator | None", login)
    assert may_ask_for_tokens(LISTENERS, listener, principal, known) is allowed


def test_a_name_may_have_colons() -> None:
    assert parts_of(principal_of("User", "a:b")) == ("User", "a:b")
