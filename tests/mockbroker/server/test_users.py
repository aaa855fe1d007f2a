"""Users of an option become what Kafka's configs say, and are known to each mechanism."""

from __future__ import annotations

import pytest

from mockbroker import MockBroker
from mockbroker.config.broker import BrokerConfig
from mockbroker.config.jaas import parse_jaas
from mockbroker.config.logins import SERVED_MECHANISMS
from mockbroker.server.listeners import Listener
from mockbroker.server.settings import Settings
from mockbroker.server.users import check_listeners, default_listener, user_configs
from mockbroker.server.values import SettingsError

USERS = {"alice": 'sec"ret\\', "bob": "x:y"}
PASSWORD_MECHANISMS = [name for name in SERVED_MECHANISMS if name != "OAUTHBEARER"]


@pytest.mark.parametrize("mechanism", PASSWORD_MECHANISMS)
def test_each_mechanism_knows_them(mechanism: str) -> None:
    config = BrokerConfig(user_configs("--user", USERS, {}))
    text = config.configured(f"{mechanism.lower()}.sasl.jaas.config")
    assert text is not None
    known = {f"user_{name}": password for name, password in USERS.items()}
    assert parse_jaas(text).options == known
    assert config.list("sasl.enabled.mechanisms") == tuple(PASSWORD_MECHANISMS)


def test_what_is_configured_stays() -> None:
    config = {"sasl.enabled.mechanisms": "PLAIN", "num.partitions": "3"}
    found = user_configs("--user", USERS, config)
    assert {key: found[key] for key in config} == config
    with pytest.raises(SettingsError, match=r"^--user: not beside plain\.sasl\.jaas\.config;"):
        user_configs("--user", USERS, {"plain.sasl.jaas.config": ""})


@pytest.mark.parametrize(
    ("options", "name", "protocol"),
    [
        ({}, "SASL_PLAINTEXT", "SASL_PLAINTEXT"),
        ({"tls": "auto"}, "SASL_SSL", "SASL_SSL"),
        ({"listeners": ["SASL_SSL://h:0"]}, "SASL_SSL", "SASL_SSL"),
        (
            {"config": {"listener.security.protocol.map": "PLAINTEXT:SASL_PLAINTEXT"}},
            "PLAINTEXT",
            "SASL_PLAINTEXT",
        ),
    ],
)
def test_they_log_in_at_the_port_or_where_listeners_say(
    options: dict[str, object], name: str, protocol: str
) -> None:
    (listener,) = Settings(users=USERS, **options).listeners  # type: ignore[arg-type]
    assert (listener.name, listener.protocol.name) == (name, protocol)


def test_a_map_of_protocols_names_the_listener() -> None:
    assert default_listener({}, tls=True) == "SASL_SSL"
    assert default_listener({"listener.security.protocol.map": "A:SASL_SSL"}, tls=True) is None


def test_where_nobody_logs_in_there_are_no_users() -> None:
    with pytest.raises(SettingsError, match=r"^users: no listener has SASL; allowed: --listener"):
        Settings(users=USERS, listeners=["A://:0"])
    with pytest.raises(SettingsError, match="no listener has SASL"):
        check_listeners("--user", [Listener("A", "h", [0], None)])


def test_a_client_logs_in_by_one_argument() -> None:
    with MockBroker(users={"alice": "secret"}) as broker:
        config = broker.client_config("librdkafka", login="alice")
        assert config == broker.client_config("librdkafka", login=("alice", "secret"))
        assert config["security.protocol"] == "SASL_PLAINTEXT"
        with pytest.raises(ValueError, match="of 'bob' is not known here; allowed: alice"):
            broker.client_config("librdkafka", login="bob")
        assert config["bootstrap.servers"] == broker.bootstrap_servers
