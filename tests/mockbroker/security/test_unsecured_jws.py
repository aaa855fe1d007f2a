"""Which tokens are valid, and until when."""

from __future__ import annotations

import pytest

from mockbroker.security.bearer_token import InvalidTokenError, Token
from mockbroker.security.unsecured_jws import validate
from tests.support.logins import bearer_token, encoded

NOW_MS = 1_700_000_000_000
NOW = NOW_MS // 1000
P = "unsecuredValidator"


def test_a_token_is_its_principals_until_it_expires() -> None:
    assert validate(bearer_token("alice", NOW, NOW + 60), {}, NOW_MS) == Token(
        "alice", NOW_MS + 60_000
    )
    assert validate(bearer_token("alice", None, NOW + 0.5), {}, NOW_MS).expires_wall_ms == (
        NOW_MS + 500
    )


@pytest.mark.parametrize(
    ("options", "claims"),
    [
        ({f"{P}PrincipalClaimName": "who"}, {"who": "alice", "sub": 7}),
        ({f"{P}AllowableClockSkewMs": "5000"}, {"exp": NOW - 4}),
        ({f"{P}PrincipalClaimName": "sub"}, {"exp": NOW + 0.001}),
        ({f"{P}AllowableClockSkewMs": "5000"}, {"iat": NOW + 5}),
        ({f"{P}RequiredScope": "read"}, {"scope": "read"}),
        ({f"{P}RequiredScope": "read write"}, {"scope": ["write", " read ", 3]}),
        ({f"{P}RequiredScope": "a", f"{P}ScopeClaimName": "scp"}, {"scp": ["a"]}),
    ],
)
def test_options_say_what_is_looked_at(options: dict[str, str], claims: dict[str, object]) -> None:
    text = encoded({"alg": "none"}, {"sub": "alice", "exp": NOW + 60, **claims})
    assert validate(text, options, NOW_MS).principal == "alice"


def test_a_boolean_is_a_text() -> None:
    assert validate(encoded({"alg": "none"}, {"sub": True, "exp": NOW + 1}), {}, NOW_MS) == Token(
        "true", NOW_MS + 1000
    )


@pytest.mark.parametrize(
    ("claims", "reason"),
    [
        ({"exp": None}, "No expiration time"),
        ({"exp": "soon"}, "'exp' claim was not of type Number"),
        ({"exp": True}, "'exp' claim was not of type Number"),
        ({"exp": 10**400}, "'exp' claim is no time"),
        ({"exp": NOW}, "It expired at"),
        ({"iat": NOW + 1}, "It is issued at"),
        ({"iat": "now"}, "'iat' claim was not of type Number"),
        ({"sub": None}, "No principal name"),
        ({"sub": " "}, "No principal name"),
        ({"sub": 7}, "No principal name"),
    ],
)
def test_what_makes_a_token_invalid(claims: dict[str, object], reason: str) -> None:
    text = encoded({"alg": "none"}, {"sub": "alice", "exp": NOW + 60, **claims})
    with pytest.raises(InvalidTokenError, match=reason):
        validate(text, {}, NOW_MS)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "..",
        "e30.e30",
        "e30.e30.",
        "e30..e30.",
        "!.!.",
        "WzFd.WzFd.",
        "bm90IGpzb24.e30.",
        encoded({"alg": "RS256"}, {"sub": "alice", "exp": NOW + 60}),
        encoded({"alg": "none"}, {"sub": "alice", "exp": NOW + 60}) + "c2ln",
        "W" * 100_000 + ".e30.",
    ],
)
def test_what_is_no_token(text: str) -> None:
    with pytest.raises(InvalidTokenError):
        validate(text, {}, NOW_MS)


def test_a_scope_that_is_missing_is_told() -> None:
    text = bearer_token("alice", NOW, NOW + 60)
    with pytest.raises(InvalidTokenError) as told:
        validate(text, {f"{P}RequiredScope": "read write"}, NOW_MS)
    assert told.value.scope == "[read, write]"


def test_options_that_cannot_be_read_let_nobody_in() -> None:
    text = bearer_token("alice", NOW, NOW + 60)
    with pytest.raises(InvalidTokenError, match="no number of milliseconds"):
        validate(text, {f"{P}AllowableClockSkewMs": "-1"}, NOW_MS)
