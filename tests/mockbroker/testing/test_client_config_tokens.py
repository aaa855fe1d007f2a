"""A broker's own tokens, for tests in its process and elsewhere."""

from __future__ import annotations

import pytest

pytest.importorskip("cryptography", reason="the extra tls is not installed")

from mockbroker import MockBroker
from mockbroker.server.values import SettingsError
from tests.support.signed_tokens import configs


def test_a_broker_makes_them_here_and_elsewhere() -> None:
    config = configs("PLAINTEXT", "auto")
    with MockBroker(config=config, admin_port=0) as broker:
        remote = MockBroker.connect(broker.admin_url or "")
        for one in (broker, remote):
            shown = one.token("alice", lifetime_ms=1000, claims={"jti": "x"})
            assert shown.count(".") == 2
            with pytest.raises(ValueError, match="no listener B with OAUTHBEARER"):
                one.token(listener="B")


def test_no_broker_makes_one_when_none_is_up() -> None:
    with MockBroker(config=configs("PLAINTEXT", "auto"), brokers=2, admin_port=0) as broker:
        remote = MockBroker.connect(broker.admin_url or "")
        first, second = broker.cluster.brokers
        broker.cluster.kill(first)
        assert broker.token("alice").count(".") == 2
        broker.cluster.kill(second)
        for one in (broker, remote):
            with pytest.raises(ValueError, match="no broker is up"):
                one.token("alice")
        broker.cluster.revive(second)
        assert broker.token("alice").count(".") == 2


SCRAM = {
    "listener.security.protocol.map": "PLAINTEXT:SASL_PLAINTEXT",
    "sasl.enabled.mechanisms": "SCRAM-SHA-256",
}


def test_a_delegation_token_is_for_clients_that_can_show_it() -> None:
    with MockBroker(config=SCRAM) as broker:
        java = broker.client_config("java", delegation_token=("an-id", b"\xff\x00"))
        assert java["sasl.mechanism"] == "SCRAM-SHA-256"
        assert java["sasl.jaas.config"].endswith(
            'ScramLoginModule required username="an-id" password="/wA=" tokenauth="true";'
        )
        franz = broker.client_config(
            "franz-go", mechanism="SCRAM-SHA-512", delegation_token=("an-id", b"\xff\x00")
        )
        shown = {"method": "SCRAM-SHA-512", "user": "an-id", "pass": "/wA=", "is_token": True}
        assert franz["sasl"] == shown
        for kind in ("confluent", "librdkafka", "node-rdkafka", "kafka-python", "aiokafka"):
            with pytest.raises(ValueError, match=r"tokenauth; allowed: java, franz-go"):
                broker.client_config(kind, delegation_token=("an-id", b"h"))
        with pytest.raises(ValueError, match="allowed: SCRAM-SHA-256"):
            broker.client_config("java", mechanism="PLAIN", delegation_token=("an-id", b"h"))
        with pytest.raises(ValueError, match="logs in once"):
            broker.client_config("java", login=("a", "b"), delegation_token=("an-id", b"h"))


def test_another_word_is_no_address_of_keys() -> None:
    with pytest.raises(SettingsError, match="https://HOST/PATH or auto"):
        MockBroker(config=configs("PLAINTEXT", "own"))
