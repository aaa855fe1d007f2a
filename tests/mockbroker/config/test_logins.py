"""Where nobody could log in, the config at fault is named."""

from __future__ import annotations

import pytest

from mockbroker.config.broker import BrokerConfig
from mockbroker.config.logins import ENABLED, login_problem
from tests.support.logins import CONFIG, LISTENER

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
