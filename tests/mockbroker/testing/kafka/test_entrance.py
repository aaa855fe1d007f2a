"""Clients of a Kafka cluster connect as the test does."""

from __future__ import annotations

import pytest

from mockbroker.testing.client_config import client_config
from mockbroker.testing.kafka.entrance import KafkaEntrance

CONFIG = {
    "security.protocol": "sasl_ssl",
    "ssl.ca.location": "ca.pem",
    "ssl.certificate.location": "me.pem",
    "ssl.key.location": "key.pem",
    "sasl.mechanisms": "SCRAM-SHA-256",
    "sasl.username": "alice",
    "sasl.password": "secret",
}


def test_what_librdkafka_was_told_is_told_to_others() -> None:
    access = KafkaEntrance("a:1", CONFIG).access(None, None)
    assert client_config("kafka-python", access) == {
        "bootstrap_servers": ["a:1"],
        "security_protocol": "SASL_SSL",
        "ssl_cafile": "ca.pem",
        "ssl_certfile": "me.pem",
        "ssl_keyfile": "key.pem",
        "sasl_mechanism": "SCRAM-SHA-256",
        "sasl_plain_username": "alice",
        "sasl_plain_password": "secret",
    }
    plain = KafkaEntrance("a:1", {"client.id": "me"})
    assert client_config("kafkajs", plain.access(None, None)) == {"brokers": ["a:1"]}
    assert plain.pem_file("ca") is None


@pytest.mark.parametrize(("listener", "certificate"), [("SSL", None), (None, "alice")])
def test_there_is_no_other_way_in(listener: str | None, certificate: str | None) -> None:
    with pytest.raises(ValueError, match=r"as Kafka\.connect was told"):
        KafkaEntrance("a:1", CONFIG).access(listener, certificate)
