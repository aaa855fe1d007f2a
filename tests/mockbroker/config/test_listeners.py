"""What is said of one listener goes before what is said of all."""

from __future__ import annotations

import pytest

from mockbroker.config.broker import BrokerConfig
from mockbroker.config.errors import ConfigError
from mockbroker.config.listeners import listener_text, security_protocol
from mockbroker.config.security_protocol import SecurityProtocol

MAP = "listener.security.protocol.map"
JAAS = "sasl.jaas.config"


def test_a_listener_has_the_protocol_of_its_name_unless_the_map_says_another() -> None:
    config = BrokerConfig()
    for protocol in SecurityProtocol:
        assert security_protocol(config, protocol.name) is protocol
    config = BrokerConfig({MAP: "internal:plaintext, OUTSIDE : SASL_SSL"})
    assert security_protocol(config, "INTERNAL") is SecurityProtocol.PLAINTEXT
    assert security_protocol(config, "OUTSIDE") is SecurityProtocol.SASL_SSL


def test_what_brokers_use_among_themselves_is_plain() -> None:
    plain = security_protocol(BrokerConfig({MAP: "OUTSIDE:SSL"}), "REPLICATION")
    assert plain is SecurityProtocol.PLAINTEXT


def test_the_text_of_a_listener_goes_before_the_text_for_all() -> None:
    config = BrokerConfig(
        {
            "sasl.enabled.mechanisms": "PLAIN",
            "listener.name.outside.sasl.enabled.mechanisms": "SCRAM-SHA-256",
            f"plain.{JAAS}": "for all",
            f"listener.name.outside.plain.{JAAS}": "outside",
        }
    )
    assert listener_text(config, "OUTSIDE", "sasl.enabled.mechanisms") == "SCRAM-SHA-256"
    assert listener_text(config, "INSIDE", "sasl.enabled.mechanisms") == "PLAIN"
    assert listener_text(config, "OUTSIDE", JAAS, "PLAIN") == "outside"
    assert listener_text(config, "INSIDE", JAAS, "PLAIN") == "for all"
    assert listener_text(config, "INSIDE", JAAS, "OAUTHBEARER") is None


def test_what_is_set_for_a_mechanism_goes_before_what_is_set_for_all() -> None:
    key = "connections.max.reauth.ms"
    config = BrokerConfig({f"scram-sha-256.{key}": "1", f"listener.name.outside.{key}": "2"})
    assert listener_text(config, "OUTSIDE", key, "SCRAM-SHA-256") == "1"
    assert listener_text(config, "OUTSIDE", key, "PLAIN") == "2"
    assert listener_text(config, "INSIDE", key, "PLAIN") == "0"


def test_what_is_of_no_mechanism_has_no_mechanism() -> None:
    with pytest.raises(ConfigError, match=r"Unknown broker config name"):
        BrokerConfig({"listener.name.outside.plain.num.io.threads": "3"})
    with pytest.raises(ConfigError, match=r"Unknown broker config name"):
        BrokerConfig({f"digest.{JAAS}": "x"})


def test_what_is_said_of_one_login_is_secret() -> None:
    for name in (f"listener.name.outside.plain.{JAAS}", f"scram-sha-512.{JAAS}"):
        assert BrokerConfig.definition(name).sensitive
