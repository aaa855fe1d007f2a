"""Users are read when a login begins, from the configs that are in force then."""

from __future__ import annotations

from random import Random

import pytest

from mockbroker.clock import Clock
from mockbroker.config.broker import BrokerConfig
from mockbroker.metadata.scram import HASHES, Upsertion
from mockbroker.metadata.scram_control import alter_scram_credentials
from mockbroker.metadata.store import MetadataStore
from mockbroker.security.mechanism import SaslError
from mockbroker.security.mechanisms import Mechanisms
from simulation.scram_client import ScramClient
from tests.support.logins import ALICE, CONFIG, LISTENER, USERS

JAAS = f"listener.name.{LISTENER.lower()}.plain.sasl.jaas.config"


def mechanisms_of(config: BrokerConfig, metadata: MetadataStore | None = None) -> Mechanisms:
    return Mechanisms(config, metadata or MetadataStore("c", config), Random(3), Clock())


def test_a_user_that_a_config_takes_away_is_gone_at_the_next_login() -> None:
    config = BrokerConfig(CONFIG)
    mechanisms = mechanisms_of(config)
    mechanisms.make("PLAIN", LISTENER).evaluate(ALICE)
    config.replace_dynamic({JAAS: USERS.replace("alice", "carol")}, cluster_default=False)
    with pytest.raises(SaslError):
        mechanisms.make("PLAIN", LISTENER).evaluate(ALICE)


def test_nobody_is_known_where_nothing_is_configured() -> None:
    with pytest.raises(SaslError):
        mechanisms_of(BrokerConfig()).make("PLAIN", LISTENER).evaluate(ALICE)


@pytest.mark.parametrize("name", HASHES)
def test_users_of_scram_may_be_configured_too(name: str) -> None:
    module = "org.apache.kafka.common.security.scram.ScramLoginModule"
    config = BrokerConfig({f"{name.lower()}.sasl.jaas.config": f'{module} required user_a="pw";'})
    mechanisms = mechanisms_of(config)
    salts = set()
    for _ in range(2):
        exchange, client = mechanisms.make(name, LISTENER), ScramClient(name, "a", "pw")
        first = exchange.evaluate(client.first())
        salts.add(first.split(b",")[1])
        assert client.is_server(exchange.evaluate(client.last(first)))
    assert len(salts) == 1


def test_what_the_metadata_say_goes_before_what_is_configured() -> None:
    name, module = "SCRAM-SHA-256", "org.apache.kafka.common.security.scram.ScramLoginModule"
    config = BrokerConfig({f"{name.lower()}.sasl.jaas.config": f'{module} required user_a="pw";'})
    metadata = MetadataStore("c", config)
    alter_scram_credentials(metadata, [], [Upsertion("a", 1, 8192, b"salt", b"other")])
    exchange = mechanisms_of(config, metadata).make(name, LISTENER)
    assert exchange.evaluate(ScramClient(name, "a", "pw").first()).endswith(b",i=8192")


def test_nonces_repeat_with_the_seed_alone() -> None:
    name = "SCRAM-SHA-256"
    metadata = MetadataStore("c", BrokerConfig())
    alter_scram_credentials(metadata, [], [Upsertion("a", 1, 4096, b"salt", b"hash")])

    def nonces() -> list[bytes]:
        mechanisms = mechanisms_of(BrokerConfig(), metadata)
        first = ScramClient(name, "a", "pw").first()
        return [mechanisms.make(name, LISTENER).evaluate(first) for _ in range(2)]

    assert nonces() == nonces()
    assert len(set(nonces())) == 2
