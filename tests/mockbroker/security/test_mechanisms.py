"""Users are read when a login begins, from the configs that are in force then."""

from __future__ import annotations

import pytest

from mockbroker.config.broker import BrokerConfig
from mockbroker.security.mechanism import SaslError
from mockbroker.security.mechanisms import Mechanisms
from tests.support.logins import ALICE, CONFIG, LISTENER, USERS

JAAS = f"listener.name.{LISTENER.lower()}.plain.sasl.jaas.config"


def test_a_user_that_a_config_takes_away_is_gone_at_the_next_login() -> None:
    config = BrokerConfig(CONFIG)
    mechanisms = Mechanisms(config)
    mechanisms.make("PLAIN", LISTENER).evaluate(ALICE)
    config.replace_dynamic({JAAS: USERS.replace("alice", "carol")}, cluster_default=False)
    with pytest.raises(SaslError):
        mechanisms.make("PLAIN", LISTENER).evaluate(ALICE)


def test_nobody_is_known_where_nothing_is_configured() -> None:
    with pytest.raises(SaslError):
        Mechanisms(BrokerConfig()).make("PLAIN", LISTENER).evaluate(ALICE)
