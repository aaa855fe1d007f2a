"""Real clients log in with a token that a provider signed, and are told of a wrong one."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("cryptography", reason="the extra tls is not installed")

from aiokafka import AIOKafkaProducer
from aiokafka.abc import AbstractTokenProvider
from confluent_kafka import KafkaError, Producer

from mockbroker import MockBroker
from mockbroker.journal import Login
from tests.support.signed_tokens import claims, configs, ec_key, jwk, jwks, signed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.clients, pytest.mark.timeout(60)]


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[MockBroker]:
    file = tmp_path / "keys.json"
    file.write_text(jwks(jwk(ec_key("P-256"), kid="one")))
    config = configs("PLAINTEXT", file.as_uri())
    with MockBroker(topics=["t"], config=config) as broker:
        yield broker


def token(**members: object) -> str:
    return signed(claims(int(time.time()), **members))


def login_of(broker: MockBroker) -> tuple[str | None, str | None]:
    """Who logged in last, or why nobody."""
    (last,) = [one for one in broker.journal.events() if isinstance(one, Login)][-1:]
    return last.principal, last.reason


@pytest.mark.parametrize(
    ("audience", "login"),
    [
        ("kafka", ("User:alice", None)),
        ("shop", (None, '{"status":"invalid_token"}: It is for \'shop\', not for kafka')),
    ],
)
def test_librdkafka(
    broker: MockBroker, audience: str, login: tuple[str | None, str | None]
) -> None:
    told: list[KafkaError | None] = []
    producer = Producer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "security.protocol": "sasl_plaintext",
            "sasl.mechanism": "OAUTHBEARER",
            "oauth_cb": lambda _: (token(aud=audience), time.time() + 60),
            "error_cb": told.append,
            "log_level": 0,
        }
    )
    producer.produce("t", b"x", on_delivery=lambda error, _: told.append(error))
    while not told:
        producer.poll(0.1)
    producer.purge()
    first = told[0]
    assert (first is None) == (audience == "kafka")
    if first is not None:
        assert 'SASL authentication error: {"status":"invalid_token"}' in str(first)
    assert login_of(broker) == login


def test_aiokafka(broker: MockBroker) -> None:
    class Provider(AbstractTokenProvider):  # type: ignore[misc]  # aiokafka has no types
        async def token(self) -> str:
            return token()

    async def produce() -> int:
        async with AIOKafkaProducer(
            bootstrap_servers=broker.bootstrap_servers,
            security_protocol="SASL_PLAINTEXT",
            sasl_mechanism="OAUTHBEARER",
            sasl_oauth_token_provider=Provider(),
        ) as producer:
            offset: int = (await producer.send_and_wait("t", b"x")).offset
            return offset

    assert asyncio.run(produce()) == 0
    assert login_of(broker) == ("User:alice", None)
