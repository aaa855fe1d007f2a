"""Where nobody could log in, the config at fault is named."""

from __future__ import annotations

import pytest

from mockbroker.config.broker import BrokerConfig
from mockbroker.config.logins import (
    ENABLED,
    SIGNED,
    checks_signatures,
    inter_broker_principal,
    jwks_url,
    login_problem,
)
from tests.support.logins import CONFIG, LISTENER
from tests.support.logins import MODULE as PLAIN_MODULE

JAAS = f"listener.name.{LISTENER.lower()}.plain.sasl.jaas.config"


@pytest.mark.parametrize(
    ("configs", "problem"),
    [
        ({}, None),
        ({JAAS: ""}, (JAAS, "Login module not specified in JAAS config")),
        (
            {"plain.sasl.server.callback.handler.class": "x.Y"},
            (
                "listener.name.sasl.plain.sasl.server.callback.handler.class",
                "no class of Java checks PLAIN here",
            ),
        ),
        ({ENABLED: "PLAIN,GSSAPI"}, (ENABLED, f"GSSAPI is not served at {LISTENER}")),
        (
            {f"listener.name.sasl.{ENABLED}": "plain"},
            (f"listener.name.sasl.{ENABLED}", f"plain is not served at {LISTENER}"),
        ),
    ],
)
def test_what_cannot_be_served_is_told_by_name(
    configs: dict[str, str], problem: tuple[str, str] | None
) -> None:
    found = login_problem(BrokerConfig({**CONFIG, **configs}), LISTENER)
    assert found[:2] == problem if found else problem is None


def test_a_listener_without_users_is_told() -> None:
    found = login_problem(BrokerConfig({ENABLED: "PLAIN"}), LISTENER)
    assert found is not None
    assert (found.key, found.problem) == (JAAS, f"PLAIN has no users at {LISTENER}")


OAUTH = "listener.name.sasl.oauthbearer.sasl"
SIGNING = {
    ENABLED: "OAUTHBEARER",
    f"{OAUTH}.server.callback.handler.class": SIGNED,
    f"{OAUTH}.oauthbearer.jwks.endpoint.url": "file:/keys.json",
    f"{OAUTH}.oauthbearer.expected.issuer": "https://idp.test",
    f"{OAUTH}.oauthbearer.expected.audience": "kafka",
}


@pytest.mark.parametrize(
    ("configs", "problem"),
    [
        ({}, None),
        ({"server.callback.handler.class": "x.Y"}, "no class of Java checks OAUTHBEARER here"),
        ({"oauthbearer.jwt.validator.class": "x.Y"}, "no other class of Java checks tokens here"),
        *(
            (
                {"oauthbearer.jwks.endpoint.url": url},
                "it does not say where the keys are that sign tokens",
            )
            for url in ("", "file:", "https://", "ftp://x/y", "/keys.json")
        ),
        (
            {"oauthbearer.expected.issuer": ""},
            "nothing says which issuer a token may have",
        ),
        (
            {"oauthbearer.expected.audience": ""},
            "nothing says which audience a token may have",
        ),
        ({"oauthbearer.clock.skew.seconds": "-1"}, "-1 is no skew"),
    ],
)
def test_what_keeps_signed_tokens_from_being_checked(
    configs: dict[str, str], problem: str | None
) -> None:
    own = {f"{OAUTH}.{key}": text for key, text in configs.items()}
    found = login_problem(BrokerConfig({**SIGNING, **own}), LISTENER)
    assert found is None if problem is None else (found and found[:2]) == (*own, problem)


def test_issuer_and_audience_may_be_left_open_on_purpose() -> None:
    config = {
        **SIGNING,
        f"{OAUTH}.oauthbearer.expected.issuer": "",
        f"{OAUTH}.oauthbearer.expected.audience": "",
        "sasl.oauthbearer.allow.unverified.issuer": "true",
        "sasl.oauthbearer.allow.unverified.audience": "true",
    }
    assert login_problem(BrokerConfig(config), LISTENER) is None


def test_keys_are_wanted_where_kafkas_handler_is_set_alone() -> None:
    config = BrokerConfig(SIGNING)
    assert checks_signatures(config, LISTENER)
    assert jwks_url(config, LISTENER) == "file:/keys.json"
    assert jwks_url(config, "OTHER") is None
    assert jwks_url(BrokerConfig({**SIGNING, ENABLED: "PLAIN"}), LISTENER) is None


BY_PROTOCOL = {
    "listener.security.protocol.map": "IN:SASL_SSL,SASL_PLAINTEXT:SASL_PLAINTEXT",
    "inter.broker.listener.name": "",
    "security.inter.broker.protocol": "SASL_PLAINTEXT",
    "plain.sasl.jaas.config": f'{PLAIN_MODULE} required username="me" password="x";',
}


@pytest.mark.parametrize(
    ("configs", "principal"),
    [
        ({}, "User:admin"),
        ({"sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-256"}, None),
        ({"inter.broker.listener.name": "PLAINTEXT"}, None),
        (BY_PROTOCOL, "User:me"),
        ({"listener.name.in.plain.sasl.jaas.config": f"{PLAIN_MODULE} required;"}, None),
    ],
)
def test_brokers_are_to_each_other_who_they_log_in_as(
    configs: dict[str, str], principal: str | None
) -> None:
    login = f'{PLAIN_MODULE} required username="admin" password="x" user_admin="x";'
    config = {
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,IN:SASL_SSL",
        "inter.broker.listener.name": "IN",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "listener.name.in.plain.sasl.jaas.config": login,
    }
    assert inter_broker_principal(BrokerConfig({**config, **configs})) == principal
