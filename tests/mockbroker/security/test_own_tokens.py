"""Tokens that the broker makes are those that its listeners take."""

from __future__ import annotations

import pytest

pytest.importorskip("cryptography", reason="the extra tls is not installed")

from mockbroker.config.broker import BrokerConfig
from mockbroker.security.bearer_token import InvalidTokenError
from mockbroker.security.json_web_keys import JsonWebKeys
from mockbroker.security.own_tokens import WantedToken, make_token
from mockbroker.security.signed_jws import TokenRules
from mockbroker.security.signed_jws import validate as validate_signed
from mockbroker.security.unsecured_jws import validate
from mockbroker.server.own_keys import OwnKeys
from tests.support.signed_tokens import configs

MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
NOW_MS = 1_700_000_000_500
LISTENERS = ["PLAINTEXT", "OUT"]


def wanted(lifetime_ms: int = 60_000, listener: str | None = None, **claims: object) -> WantedToken:
    return WantedToken("alice", listener, lifetime_ms, claims)


def signed_config(**more: str) -> BrokerConfig:
    named = {"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,OUT:SASL_PLAINTEXT"}
    config = BrokerConfig({**configs("OUT", "auto"), **named, **more})
    config.token_keys["OUT"] = OwnKeys()
    return config


def checked(config: BrokerConfig, token: str, scope: str = "") -> str:
    keys = JsonWebKeys.parse(config.token_keys["OUT"].text() or "")
    found = validate_signed(token, keys, TokenRules.of(config, "OUT", scope), NOW_MS)
    return f"{found.principal} {found.expires_wall_ms - NOW_MS}"


def test_a_signed_one_has_what_is_expected() -> None:
    jaas = {
        "listener.name.out.oauthbearer.sasl.jaas.config": (
            f'{MODULE} required validatorRequiredScope="read write";'
        ),
        "sasl.oauthbearer.sub.claim.name": "client_id",
        "sasl.oauthbearer.scope.claim.name": "scp",
    }
    config = signed_config(**jaas)
    token = make_token(config, LISTENERS, wanted(), NOW_MS)
    assert checked(config, token, "read write") == "alice 59500"
    own = make_token(config, LISTENERS, wanted(client_id="bob", listener="out"), NOW_MS)
    assert checked(config, own, "read").startswith("bob ")


@pytest.mark.parametrize(
    ("token", "reason"),
    [
        (wanted(-60_000), "It expired at"),
        (wanted(aud="shop"), "It is for 'shop'"),
        (wanted(iss=None), "It is issued by None"),
    ],
)
def test_a_test_may_have_one_that_is_wrong(token: WantedToken, reason: str) -> None:
    config = signed_config()
    with pytest.raises(InvalidTokenError, match=reason):
        checked(config, make_token(config, LISTENERS, token, NOW_MS))


def test_nobody_else_signs_for_it() -> None:
    config = signed_config()
    token = make_token(config, LISTENERS, wanted(), NOW_MS)
    config.token_keys["OUT"] = OwnKeys()
    with pytest.raises(InvalidTokenError, match="signature"):
        checked(config, token)


def test_one_without_a_signature_is_taken_where_none_is_wanted() -> None:
    options = {
        "unsecuredValidatorPrincipalClaimName": "who",
        "unsecuredValidatorScopeClaimName": "may",
        "unsecuredValidatorRequiredScope": "read",
    }
    said = " ".join(f'{name}="{value}"' for name, value in options.items())
    config = BrokerConfig(
        {
            "listener.security.protocol.map": "OUT:SASL_PLAINTEXT",
            "sasl.enabled.mechanisms": "OAUTHBEARER",
            "oauthbearer.sasl.jaas.config": f"{MODULE} required {said};",
        }
    )
    token = make_token(config, ["OUT"], wanted(), NOW_MS)
    assert validate(token, options, NOW_MS) == ("alice", 1_700_000_060_000)


def test_who_has_no_keys_makes_none() -> None:
    config = BrokerConfig(configs("OUT", "file:/keys.json"))
    with pytest.raises(ValueError, match="the keys that sign tokens for OUT are at file:/keys"):
        make_token(config, ["OUT"], wanted(), NOW_MS)
    with pytest.raises(ValueError, match="no listener IN with OAUTHBEARER; allowed: OUT"):
        make_token(config, ["OUT"], wanted(listener="IN"), NOW_MS)
