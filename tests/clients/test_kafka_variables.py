"""What a compose file of Apache Kafka's image sets for security: only the image is another one.

Three brokers of one process have a listener of SASL_PLAINTEXT, one of SASL_SSL with SCRAM and one
that wants certificates, from stores and passwords in the folder of secrets.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Consumer, Producer

from tests.support import certificates

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mockbroker.server.certificates import Certificate

pytestmark = [pytest.mark.clients, pytest.mark.timeout(60)]
serialization = pytest.importorskip("cryptography.hazmat.primitives.serialization")
pkcs12 = pytest.importorskip("cryptography.hazmat.primitives.serialization.pkcs12")
x509 = pytest.importorskip("cryptography.x509")

ROOT = Path(__file__).parents[2]
SECURITY = "org.apache.kafka.common.security"
PASSWORD = "open sesame"
VARIABLES = {
    "KAFKA_NODE_ID": "1",
    "KAFKA_PROCESS_ROLES": "broker,controller",
    "KAFKA_LISTENERS": "CONTROLLER://:29093,INSIDE://:0,OUTSIDE://:0,MUTUAL://:0",
    "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": (
        "CONTROLLER:PLAINTEXT,INSIDE:SASL_PLAINTEXT,OUTSIDE:SASL_SSL,MUTUAL:SSL"
    ),
    "KAFKA_CONTROLLER_LISTENER_NAMES": "CONTROLLER",
    "KAFKA_CONTROLLER_QUORUM_VOTERS": "1@localhost:29093",
    "KAFKA_INTER_BROKER_LISTENER_NAME": "INSIDE",
    "KAFKA_SASL_MECHANISM_INTER_BROKER_PROTOCOL": "PLAIN",
    "KAFKA_SASL_ENABLED_MECHANISMS": "PLAIN,SCRAM-SHA-512",
    "KAFKA_LISTENER_NAME_INSIDE_PLAIN_SASL_JAAS_CONFIG": (
        f"{SECURITY}.plain.PlainLoginModule required "
        'username="admin" password="admin-secret" user_admin="admin-secret" user_alice="secret";'
    ),
    "KAFKA_LISTENER_NAME_OUTSIDE_SASL_ENABLED_MECHANISMS": "SCRAM-SHA-512",
    "KAFKA_LISTENER_NAME_OUTSIDE_SCRAM___SHA___512_SASL_JAAS_CONFIG": (
        f'{SECURITY}.scram.ScramLoginModule required user_alice="scram secret";'
    ),
    "KAFKA_SSL_KEYSTORE_FILENAME": "server.p12",
    "KAFKA_SSL_KEYSTORE_TYPE": "PKCS12",
    "KAFKA_SSL_KEYSTORE_CREDENTIALS": "credentials",
    "KAFKA_SSL_KEY_CREDENTIALS": "credentials",
    "KAFKA_SSL_TRUSTSTORE_FILENAME": "trust.p12",
    "KAFKA_SSL_TRUSTSTORE_TYPE": "PKCS12",
    "KAFKA_SSL_TRUSTSTORE_CREDENTIALS": "credentials",
    "KAFKA_SSL_CLIENT_AUTH": "required",
    "KAFKA_SSL_PRINCIPAL_MAPPING_RULES": "RULE:^CN=(.*)$/$1/U,DEFAULT",
    "KAFKA_AUTHORIZER_CLASS_NAME": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "KAFKA_SUPER_USERS": "User:admin;User:alice;User:ALICE",
    "KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR": "1",
    "KAFKA_LOG_DIRS": "/var/lib/kafka/data",
    "KAFKA_HEAP_OPTS": "-Xmx512m",
    "MOCKBROKER_KAFKA_ENV": "true",
    "MOCKBROKER_BROKERS": "3",
}
# The folder of the image is not one that a test may write to.
COMMAND = (
    "import sys; from mockbroker.server import kafka_secrets;"
    "kafka_secrets.with_secrets.__defaults__ = (sys.argv.pop(1),);"
    "from mockbroker.cli.main import main; sys.exit(main())"
)


def store(folder: Path, name: str, certificate: Certificate | None) -> None:
    """A PKCS12 store: a key and its certificate, or who is trusted alone."""
    trusted = x509.load_pem_x509_certificate(certificates.authority().certificate.encode())
    key = shown = None
    if certificate is not None:
        key = serialization.load_pem_private_key(certificate.key.encode(), None)
        shown = x509.load_pem_x509_certificate(certificate.certificate.encode())
    data = pkcs12.serialize_key_and_certificates(
        b"store", key, shown, [trusted], serialization.BestAvailableEncryption(PASSWORD.encode())
    )
    (folder / name).write_bytes(data)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("secrets")
    store(made, "server.p12", certificates.server())
    store(made, "trust.p12", None)
    (made / "credentials").write_text(f"{PASSWORD}\n")
    (made / "ca.pem").write_text(certificates.authority().certificate)
    shown = certificates.client()
    (made / "alice.pem").write_text(shown.key + shown.certificate)
    return made


@pytest.fixture(scope="module")
def addresses(folder: Path) -> Iterator[dict[str, str]]:
    """Of each listener."""
    ready = folder / "ready.json"
    command = [sys.executable, "-c", COMMAND, str(folder), "serve", "--ready-file", str(ready)]
    with (
        (folder / "log").open("wb") as log,
        subprocess.Popen(
            command, cwd=ROOT, env=os.environ | VARIABLES, stdout=subprocess.PIPE, stderr=log
        ) as process,
    ):
        assert process.stdout is not None
        try:
            assert process.stdout.readline(), (folder / "log").read_text()
            told = json.loads(ready.read_text())
            yield told["listeners"]
        finally:
            process.send_signal(signal.SIGTERM)
    assert "ignored" not in (folder / "log").read_text()


def access(folder: Path, listener: str) -> dict[str, str]:
    """What a client of the compose file has."""
    ca = {"ssl.ca.location": str(folder / "ca.pem")}
    pem = str(folder / "alice.pem")
    user = {"sasl.username": "alice"}
    return {
        "INSIDE": {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            **user,
            "sasl.password": "secret",
        },
        "OUTSIDE": {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "SCRAM-SHA-512",
            **user,
            "sasl.password": "scram secret",
            **ca,
        },
        "MUTUAL": {
            "security.protocol": "SSL",
            "ssl.certificate.location": pem,
            "ssl.key.location": pem,
            **ca,
        },
    }[listener]


@pytest.mark.parametrize("listener", ["INSIDE", "OUTSIDE", "MUTUAL"])
def test_a_client_of_each_listener(
    addresses: dict[str, str], folder: Path, topic: str, listener: str
) -> None:
    assert addresses[listener].count(",") == 2
    config = {"bootstrap.servers": addresses[listener], **access(folder, listener)}
    producer = Producer(config)
    for number in range(6):
        producer.produce(topic, b"%d" % number)
    assert producer.flush(20) == 0
    group = {"group.id": topic, "auto.offset.reset": "earliest"}
    consumer = Consumer({**config, **group})
    consumer.subscribe([topic])
    found: set[bytes | None] = set()
    while len(found) < 6:
        message = consumer.poll(20)
        assert message is not None
        assert message.error() is None, message.error()
        found.add(message.value())
    consumer.close()


def test_who_is_wrong_does_not_get_in(addresses: dict[str, str], folder: Path) -> None:
    config = {**access(folder, "OUTSIDE"), "sasl.password": "secret"}
    failures: list[str] = []
    producer = Producer(
        {
            "bootstrap.servers": addresses["OUTSIDE"],
            **config,
            "error_cb": lambda error: failures.append(str(error)),
        }
    )
    while not any("Authentication failed" in one for one in failures):
        producer.poll(1)
