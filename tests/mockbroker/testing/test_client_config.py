"""What clients are given to connect: under each client's own names."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from mockbroker import MockBroker
from mockbroker.testing.client_config import Access, client_config

pytest.importorskip("cryptography", reason="the extra tls is not installed")


def access(folder: Path) -> Access:
    made = Access("a:1,b:2", "SASL_SSL")
    made.ca_file, made.client_file = str(folder / "ca.pem"), str(folder / "me.pem")
    Path(made.ca_file).write_text("CA")
    Path(made.client_file).write_text("ME")
    made.login = ("me", 'a"b')
    return made


@pytest.mark.parametrize("kind", ["confluent", "librdkafka", "node-rdkafka"])
def test_librdkafka(tmp_path: Path, kind: str) -> None:
    assert client_config(kind, access(tmp_path)) == {
        "bootstrap.servers": "a:1,b:2",
        "security.protocol": "SASL_SSL",
        "ssl.ca.location": f"{tmp_path}/ca.pem",
        "ssl.certificate.location": f"{tmp_path}/me.pem",
        "ssl.key.location": f"{tmp_path}/me.pem",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "me",
        "sasl.password": 'a"b',
    }


def test_kafka_python(tmp_path: Path) -> None:
    assert client_config("kafka-python", access(tmp_path)) == {
        "bootstrap_servers": ["a:1", "b:2"],
        "security_protocol": "SASL_SSL",
        "ssl_cafile": f"{tmp_path}/ca.pem",
        "ssl_certfile": f"{tmp_path}/me.pem",
        "ssl_keyfile": f"{tmp_path}/me.pem",
        "sasl_mechanism": "PLAIN",
        "sasl_plain_username": "me",
        "sasl_plain_password": 'a"b',
    }


def test_java(tmp_path: Path) -> None:
    made = access(tmp_path)
    made.mechanism = "SCRAM-SHA-512"
    module = "org.apache.kafka.common.security.scram.ScramLoginModule"
    assert client_config("java", made) == {
        "bootstrap.servers": "a:1,b:2",
        "security.protocol": "SASL_SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": f"{tmp_path}/ca.pem",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": f"{tmp_path}/me.pem",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.jaas.config": rf'{module} required username="me" password="a\"b";',
    }


def test_kafkajs(tmp_path: Path) -> None:
    assert client_config("kafkajs", access(tmp_path)) == {
        "brokers": ["a:1", "b:2"],
        "ssl": {"ca": ["CA"], "cert": "ME", "key": "ME"},
        "sasl": {"mechanism": "plain", "username": "me", "password": 'a"b'},
    }


def test_franz_go(tmp_path: Path) -> None:
    assert client_config("franz-go", access(tmp_path)) == {
        "seed_brokers": ["a:1", "b:2"],
        "tls": {
            "ca_cert_path": f"{tmp_path}/ca.pem",
            "client_cert_path": f"{tmp_path}/me.pem",
            "client_key_path": f"{tmp_path}/me.pem",
        },
        "sasl": {"method": "PLAIN", "user": "me", "pass": 'a"b'},
    }


def test_a_key_may_be_in_a_file_of_its_own(tmp_path: Path) -> None:
    made = access(tmp_path)
    made.key_file = str(tmp_path / "key.pem")
    Path(made.key_file).write_text("KEY")
    assert client_config("confluent", made)["ssl.key.location"] == made.key_file
    assert client_config("kafka-python", made)["ssl_keyfile"] == made.key_file
    assert client_config("kafkajs", made)["ssl"] == {"ca": ["CA"], "cert": "ME", "key": "KEY"}
    assert client_config("franz-go", made)["tls"]["client_key_path"] == made.key_file
    java = client_config("java", made)
    assert (java["ssl.keystore.key"], java["ssl.keystore.certificate.chain"]) == ("KEY", "ME")
    assert "ssl.keystore.location" not in java


def test_what_there_is_not_is_left_out() -> None:
    plain = Access("a:1", "PLAINTEXT")
    servers = {"bootstrap.servers": "a:1", "security.protocol": "PLAINTEXT"}
    assert client_config("confluent", plain) == servers
    assert client_config("java", plain) == servers
    assert client_config("kafkajs", plain) == {"brokers": ["a:1"]}
    assert client_config("franz-go", plain) == {"seed_brokers": ["a:1"]}
    python = {"bootstrap_servers": ["a:1"], "security_protocol": "PLAINTEXT"}
    assert client_config("kafka-python", plain) == python
    assert client_config("aiokafka", plain) == python


def test_another_client_is_told_which_there_are() -> None:
    with pytest.raises(ValueError, match="'sarama' is no client that is known; allowed: confluent"):
        client_config("sarama", Access("a:1", "PLAINTEXT"))


def test_a_broker_knows_its_listeners_and_files() -> None:
    config = {"ssl.client.auth": "required"}
    with MockBroker(tls="auto", listeners=["A://:0", "SSL://:0"], config=config) as broker:
        assert broker.client_config("confluent") == {
            "bootstrap.servers": broker.bootstrap_servers,
            "security.protocol": "PLAINTEXT",
        }
        secured = broker.client_config("confluent", listener="ssl")
        assert secured["ssl.ca.location"] == broker.ca_file
        assert secured["ssl.key.location"] == broker.client_file("client")
        named = broker.client_config("java", listener="SSL", certificate="alice")
        assert named["ssl.keystore.location"] == broker.client_file("alice")
        context = broker.client_config("aiokafka", listener="SSL")["ssl_context"]
        assert isinstance(context, ssl.SSLContext)
        assert len(context.get_ca_certs()) == 1
        with pytest.raises(ValueError, match="there is no listener B; allowed: A, SSL"):
            broker.client_config("confluent", listener="B")


def test_no_certificate_is_shown_where_none_is_required() -> None:
    with MockBroker(tls="auto") as broker:
        assert "ssl.key.location" not in broker.client_config("confluent")


def test_without_certificates_that_is_told() -> None:
    with MockBroker() as broker, pytest.raises(RuntimeError, match="there are no certificates"):
        broker.client_file("alice")


SIGNED = "e30.eyJzdWIiOiJhbGljZSIsImV4cCI6MTd9.c2ln"
UNSECURED = "e30.eyJzdWIiOiJhbGljZSIsImV4cCI6MTd9."


def with_token(token: str) -> Access:
    made = Access("a:1", "SASL_PLAINTEXT")
    made.mechanism, made.token = "OAUTHBEARER", token
    return made


def test_a_token_is_shown_by_each_in_its_way() -> None:
    made = with_token(SIGNED)
    config = client_config("confluent", made)
    assert config.pop("oauth_cb")("") == (SIGNED, 17.0)
    librdkafka = {
        "bootstrap.servers": "a:1",
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
    }
    assert config == librdkafka
    assert client_config("node-rdkafka", made) == {**librdkafka, "token": SIGNED}
    assert client_config("librdkafka", with_token(UNSECURED)) == {
        **librdkafka,
        "enable.sasl.oauthbearer.unsecure.jwt": "true",
        "sasl.oauthbearer.config": "principal=alice",
    }
    assert client_config("kafkajs", made)["sasl"] == {"mechanism": "oauthbearer", "token": SIGNED}
    assert client_config("franz-go", made)["sasl"] == {"method": "OAUTHBEARER", "token": SIGNED}


def test_java_reads_a_signed_token_from_a_file_and_makes_one_that_nobody_signs() -> None:
    package = "org.apache.kafka.common.security.oauthbearer"
    config = client_config("java", with_token(SIGNED))
    file = Path(config["sasl.oauthbearer.token.endpoint.url"].removeprefix("file:"))
    assert (file.read_text(), file.stat().st_mode & 0o777) == (SIGNED, 0o600)
    handler = config["sasl.login.callback.handler.class"]
    assert handler == f"{package}.OAuthBearerLoginCallbackHandler"
    module = f"{package}.OAuthBearerLoginModule required"
    assert config["sasl.jaas.config"] == f"{module};"
    made = client_config("java", with_token(UNSECURED))["sasl.jaas.config"]
    assert made == f'{module} unsecuredLoginStringClaim_sub="alice";'


async def test_clients_in_python_ask_a_provider_each_time() -> None:
    pytest.importorskip("aiokafka")
    pytest.importorskip("kafka")
    asked: list[str] = []

    def give() -> str:
        asked.append(SIGNED)
        return SIGNED

    made = with_token(SIGNED)
    made.token = give
    theirs = client_config("aiokafka", made)["sasl_oauth_token_provider"]
    assert [await theirs.token(), await theirs.token()] == [SIGNED] * 2
    assert client_config("kafka-python", made)["sasl_oauth_token_provider"].token() == SIGNED
    assert len(asked) == 3


def test_a_token_is_for_oauthbearer_alone() -> None:
    with MockBroker() as broker:
        with pytest.raises(ValueError, match="a token and PLAIN"):
            broker.client_config("java", mechanism="PLAIN", token=SIGNED)
        with pytest.raises(ValueError, match="a token and OAUTHBEARER"):
            broker.client_config("java", mechanism="OAUTHBEARER")
        with pytest.raises(ValueError, match="no listener with OAUTHBEARER; allowed: none"):
            broker.token()
