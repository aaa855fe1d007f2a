"""A signed token is valid as Apache Kafka's validator has it, and else it is said why not."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("cryptography", reason="the extra tls is not installed")

from mockbroker.config.broker import BrokerConfig
from mockbroker.security.bearer_token import InvalidTokenError, Token
from mockbroker.security.json_web_keys import JsonWebKeys
from mockbroker.security.signed_jws import TokenRules, validate
from tests.support.logins import encoded
from tests.support.signed_tokens import (
    AUDIENCE,
    ISSUER,
    claims,
    configs,
    ec_key,
    in_base64,
    jwk,
    jwks,
    signature,
    signed,
)

NOW = 1_700_000_000
KEYS = JsonWebKeys.parse(jwks(jwk(ec_key("P-256"), kid="one")))
RULES = TokenRules(ISSUER, [AUDIENCE, "other"], 30, "sub", "scope", "")


def check(token: str, rules: TokenRules = RULES) -> Token:
    return validate(token, KEYS, rules, NOW * 1000 + 999)


@pytest.mark.parametrize(
    "members",
    [
        {},
        {"sub": " alice "},
        {"aud": ["x", "other"]},
        {"scope": "a b"},
        {"scope": ["a", "b"]},
        {"scope": []},
        {"scope": 5},
        {"iat": NOW + 50},
        {"nbf": NOW + 30},
        {"exp": NOW + 60.9},
        {"jti": "x"},
    ],
)
def test_valid(members: dict[str, Any]) -> None:
    assert check(signed(claims(NOW, **members))) == Token("alice", (NOW + 60) * 1000)


def test_it_expires_within_the_skew() -> None:
    assert check(signed(claims(NOW - 100, exp=NOW - 29))).expires_wall_ms == (NOW - 29) * 1000
    with pytest.raises(InvalidTokenError, match="It expired at"):
        check(signed(claims(NOW - 100, exp=NOW - 30)))


@pytest.mark.parametrize(
    ("members", "problem"),
    [
        ({"exp": 0}, "The claim exp is missing"),
        ({"iat": 0}, "The claim iat is missing"),
        ({"exp": "x"}, "The claim exp is no number"),
        ({"exp": True}, "The claim exp is no number"),
        ({"exp": 1e300}, "The claim exp is no time"),
        ({"exp": 10**30}, "The claim exp is no time"),
        ({"nbf": "x"}, "The claim nbf is no number"),
        ({"nbf": NOW + 31}, "It begins at"),
        ({"iat": NOW + 61}, "It expires before it begins"),
        ({"iat": -5}, "It is of a time before 1970"),
        ({"iss": "x"}, "It is issued by 'x', not by"),
        ({"iss": 0}, "It is issued by None, not by"),
        ({"iss": [ISSUER]}, "The claim iss is no text"),
        ({"aud": "x"}, "It is for 'x', not for kafka, other"),
        ({"aud": 0}, "The claim aud is no text"),
        ({"aud": ["kafka", 5]}, "The claim aud is no text"),
        ({"sub": 0}, "There is no subject in the claim sub"),
        ({"sub": "  "}, "There is no subject in the claim sub"),
        ({"sub": 7}, "The claim sub is no text"),
        ({"jti": 7}, "The claim jti is no text"),
        ({"scope": ""}, "A scope is empty"),
        ({"scope": ["a", " a"]}, "A scope is empty, there twice"),
        ({"scope": [5]}, "or no text"),
    ],
)
def test_claims_that_are_wrong(members: dict[str, Any], problem: str) -> None:
    given = {name: None if value == 0 else value for name, value in members.items()}
    with pytest.raises(InvalidTokenError, match=problem):
        check(signed(claims(NOW, **given)))


@pytest.mark.parametrize(
    ("header", "problem"),
    [
        ({"alg": "none"}, "The algorithm 'none' signs no token"),
        ({"alg": None}, "The algorithm None signs no token"),
        ({"alg": ["ES256"]}, "signs no token"),
        ({"alg": "RS256"}, "There is no key of the id 'one' for RS256"),
        ({"kid": 7}, "The id of its key is no text"),
        ({"kid": "two"}, "There is no key of the id 'two' for ES256"),
        ({"crit": ["x"]}, "asks for what is not understood"),
        ({"b64": False}, "asks for what is not understood"),
    ],
)
def test_headers_that_are_wrong(header: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidTokenError, match=problem):
        check(signed(claims(NOW), header=header))


@pytest.mark.parametrize("text", ["", "a", "a.b", "a..b", "a.b.", "a.b.c.d", "e30.e30"])
def test_what_is_no_token(text: str) -> None:
    with pytest.raises(InvalidTokenError, match="It has not three values"):
        check(text)


def test_an_unsecured_token_gives_nobody_access() -> None:
    for ending in ("", "AA"):
        with pytest.raises(InvalidTokenError):
            check(encoded({"alg": "none"}, claims(NOW)) + ending)


def test_claims_are_read_once_the_signature_is_right() -> None:
    for text in ("[]", "hello", '{"sub":"alice","sub":"bob"}'):
        start = signed({}).partition(".")[0] + "." + in_base64(text.encode())
        made = signature("ES256", ec_key("P-256"), start.encode())
        with pytest.raises(InvalidTokenError, match=r"malformed|twice"):
            check(f"{start}.{in_base64(made)}")
    other = signed(claims(NOW, sub="bob")).split(".")[1]
    head, _, made_for_alice = signed(claims(NOW)).split(".")
    with pytest.raises(InvalidTokenError, match="The signature is not one of the key"):
        check(f"{head}.{other}.{made_for_alice}")


def test_what_the_configs_say_is_what_counts() -> None:
    prefix = "listener.name.sasl.oauthbearer.sasl.oauthbearer"
    config = {
        **configs("SASL", "file:/x"),
        f"{prefix}.clock.skew.seconds": "5",
        f"{prefix}.sub.claim.name": "client",
        f"{prefix}.scope.claim.name": "scp",
    }
    rules = TokenRules.of(BrokerConfig(config), "SASL", "a")
    assert rules == TokenRules(ISSUER, (AUDIENCE,), 5, "client", "scp", "a")
    token = signed(claims(NOW, sub=None, client="carol", scp=["a"]))
    assert check(token, rules).principal == "carol"
    with pytest.raises(InvalidTokenError) as told:
        check(signed(claims(NOW, client="carol", scope="a")), rules)
    assert told.value.scope == "[a]"


def test_issuer_and_audience_may_be_left_open() -> None:
    rules = RULES._replace(issuer=None, audiences=())
    assert check(signed(claims(NOW, iss=None, aud=None)), rules).principal == "alice"
    assert check(signed(claims(NOW, iss="x", aud=5)), rules).principal == "alice"
