"""Real clients log in with each mechanism, and are told that a password is wrong."""

from __future__ import annotations

import asyncio
import base64
import json
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.abc import AbstractTokenProvider
from aiokafka.errors import KafkaConnectionError
from confluent_kafka import KafkaError, Producer

from tests.clients.server import serving

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.clients, pytest.mark.timeout(60)]

SECURITY = "org.apache.kafka.common.security"
MODULES = {
    "PLAIN": f"{SECURITY}.plain.PlainLoginModule",
    "SCRAM-SHA-256": f"{SECURITY}.scram.ScramLoginModule",
    "SCRAM-SHA-512": f"{SECURITY}.scram.ScramLoginModule",
}
SETTINGS = {
    "listener.security.protocol.map": "PLAINTEXT:SASL_PLAINTEXT",
    "sasl.enabled.mechanisms": ",".join((*MODULES, "OAUTHBEARER")),
    **{
        f"{name.lower()}.sasl.jaas.config": f'{module} required user_alice="right";'
        for name, module in MODULES.items()
    },
}


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    arguments = [f"--set={key}={text}" for key, text in SETTINGS.items()]
    with serving(tmp_path_factory.mktemp("logins"), *arguments) as bootstrap:
        yield bootstrap


def for_librdkafka(address: str, mechanism: str, password: str) -> dict[str, Any]:
    return {
        "bootstrap.servers": address,
        "security.protocol": "sasl_plaintext",
        "sasl.mechanism": mechanism,
        "sasl.username": "alice",
        "sasl.password": password,
        "log_level": 0,
    }


def for_python(address: str, mechanism: str, password: str) -> dict[str, Any]:
    return {
        "bootstrap_servers": address,
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": mechanism,
        "sasl_plain_username": "alice",
        "sasl_plain_password": password,
    }


def unsecured_token(seconds: float) -> str:
    parts = {"alg": "none"}, {"sub": "alice", "exp": time.time() + seconds}
    texts = (base64.urlsafe_b64encode(json.dumps(part).encode()) for part in parts)
    return ".".join(text.decode().rstrip("=") for text in texts) + "."


def produce_by_librdkafka(config: dict[str, Any]) -> list[KafkaError | None]:
    """What became of one record; or the errors, of which the first ends the wait."""
    told: list[KafkaError | None] = []
    producer = Producer({**config, "error_cb": told.append})
    producer.produce("t", b"x", on_delivery=lambda error, _: told.append(error))
    while not told:
        producer.poll(0.1)
    producer.purge()
    return told


@pytest.mark.parametrize("mechanism", MODULES)
def test_confluent_kafka(address: str, mechanism: str) -> None:
    assert produce_by_librdkafka(for_librdkafka(address, mechanism, "right")) == [None]
    told = produce_by_librdkafka(for_librdkafka(address, mechanism, "wrong"))[0]
    assert told is not None
    assert told.code() == KafkaError._AUTHENTICATION
    assert "Authentication failed" in told.str()


def test_confluent_kafka_with_a_token(address: str) -> None:
    def config(seconds: float) -> dict[str, Any]:
        shown = unsecured_token(seconds), time.time() + 600
        found = for_librdkafka(address, "OAUTHBEARER", "")
        del found["sasl.username"], found["sasl.password"]
        return {**found, "oauth_cb": lambda _: shown}

    assert produce_by_librdkafka(config(60)) == [None]
    told = produce_by_librdkafka(config(-5))[0]
    assert told is not None
    assert "invalid_token" in told.str()


PROGRAM = """
import json, sys
from kafka import KafkaProducer
producer = KafkaProducer(**json.loads(sys.argv[1]))
print(producer.send("t", b"x").get(10).topic)
producer.close()
"""


def produce_by_kafka_python(config: dict[str, Any]) -> subprocess.CompletedProcess[str]:
    """In a process of its own: it warns of itself."""
    command = [sys.executable, "-c", PROGRAM, json.dumps(config)]
    return subprocess.run(command, capture_output=True, text=True, timeout=50, check=False)


@pytest.mark.parametrize("mechanism", MODULES)
def test_kafka_python(address: str, mechanism: str) -> None:
    ran = produce_by_kafka_python(for_python(address, mechanism, "right"))
    assert ran.stdout == "t\n", ran.stderr


def test_kafka_python_with_a_wrong_password(address: str) -> None:
    config = for_python(address, "PLAIN", "wrong") | {"bootstrap_timeout_ms": 1000}
    ran = produce_by_kafka_python(config)
    assert ran.returncode == 1
    assert "Unable to bootstrap" in ran.stderr  # it logs the reason, and tries on


async def produce_by_aiokafka(config: dict[str, Any]) -> str:
    async with AIOKafkaProducer(**config) as producer:
        told = await producer.send_and_wait("t", b"x")
    topic: str = told.topic
    return topic


@pytest.mark.parametrize("mechanism", MODULES)
def test_aiokafka(address: str, mechanism: str) -> None:
    assert asyncio.run(produce_by_aiokafka(for_python(address, mechanism, "right"))) == "t"
    with pytest.raises(KafkaConnectionError):
        asyncio.run(produce_by_aiokafka(for_python(address, mechanism, "wrong")))


def test_aiokafka_with_a_token(address: str) -> None:
    class Provider(AbstractTokenProvider):  # type: ignore[misc]  # aiokafka has no types
        async def token(self) -> str:
            return unsecured_token(60)

    async def produce() -> str:
        config = for_python(address, "OAUTHBEARER", "")
        return await produce_by_aiokafka({**config, "sasl_oauth_token_provider": Provider()})

    assert asyncio.run(produce()) == "t"
