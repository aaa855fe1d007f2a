"""Each client over TLS, with a certificate of its own; none is let in without, or misled."""

from __future__ import annotations

import asyncio
import ssl
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.errors import KafkaConnectionError
from confluent_kafka import Consumer, KafkaError, Producer

from mockbroker import MockBroker
from tests.clients.server import serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytest.importorskip("cryptography", reason="the extra tls is not installed")

pytestmark = pytest.mark.clients
TOPIC = "secured"
VALUES = [bytes(size) for size in (1, 100, 900_000)]


class Served:
    """Where it is, and the files for its clients."""

    def __init__(self, address: str, folder: Path) -> None:
        self.address = address
        self.ca_file = str(folder / "ca.pem")
        self.client_file = str(folder / "client.pem")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("tls")
    arguments = ["--tls", "auto", "--tls-dir", str(folder), "--set", "ssl.client.auth=required"]
    with serving(folder, *arguments, "--brokers", "2") as address:
        yield Served(address, folder)


def confluent(served: Served, **more: object) -> dict[str, object]:
    return {
        "bootstrap.servers": served.address,
        "security.protocol": "SSL",
        "ssl.ca.location": served.ca_file,
        "ssl.certificate.location": served.client_file,
        "ssl.key.location": served.client_file,
        "log_level": 0,
        **more,
    }


def test_confluent_kafka(served: Served) -> None:
    producer = Producer(confluent(served))
    for value in VALUES:
        producer.produce(f"{TOPIC}-confluent", value)
    assert producer.flush(20) == 0
    group = {"group.id": "confluent", "auto.offset.reset": "earliest"}
    consumer = Consumer(confluent(served, **group))
    consumer.subscribe([f"{TOPIC}-confluent"])
    found: list[bytes | None] = []
    while len(found) < len(VALUES):
        message = consumer.poll(20)
        assert message is not None
        assert message.error() is None
        found.append(message.value())
    consumer.close()
    assert found == VALUES


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"ssl.ca.location": None}, "certificate verify failed"),
        ({"ssl.certificate.location": None, "ssl.key.location": None}, "certificate required"),
    ],
)
def test_confluent_kafka_is_told_what_is_wrong(
    served: Served, change: dict[str, None], reason: str
) -> None:
    errors: list[KafkaError] = []
    config = confluent(served, error_cb=errors.append)
    config = {key: value for key, value in config.items() if key not in change}
    producer = Producer(config)
    for _ in range(100):
        if any(reason in str(error) for error in errors):
            break
        producer.poll(0.2)
    else:
        pytest.fail(f"{errors}")


# A process of its own: its imports warn of what is deprecated.
KAFKA_PYTHON = """
import sys
from kafka import KafkaConsumer, KafkaProducer

address, ca_file, client_file = sys.argv[1:]
config = {
    "bootstrap_servers": address,
    "security_protocol": "SSL",
    "ssl_cafile": ca_file,
    "ssl_certfile": client_file,
    "ssl_keyfile": client_file,
}
producer = KafkaProducer(**config, acks="all")
sizes = (1, 100, 900_000)
for size in sizes:
    producer.send("secured-python", bytes(size))
producer.flush(20)
producer.close()
consumer = KafkaConsumer("secured-python", **config, auto_offset_reset="earliest")
print([len(next(consumer).value) for _ in sizes])
consumer.close()
"""


def test_kafka_python(served: Served) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", KAFKA_PYTHON, served.address, served.ca_file, served.client_file],
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert ran.stdout == "[1, 100, 900000]\n", ran.stderr


def aiokafka(served: Served, *, shown: bool = True) -> dict[str, object]:
    context = ssl.create_default_context(cafile=served.ca_file)
    if shown:
        context.load_cert_chain(served.client_file)
    return {
        "bootstrap_servers": served.address,
        "security_protocol": "SSL",
        "ssl_context": context,
    }


async def test_aiokafka(served: Served) -> None:
    async with AIOKafkaProducer(**aiokafka(served)) as producer:
        for value in VALUES:
            await producer.send_and_wait(f"{TOPIC}-aio", value)
    async with AIOKafkaConsumer(
        f"{TOPIC}-aio", **aiokafka(served), auto_offset_reset="earliest"
    ) as consumer:
        async with asyncio.timeout(20):
            assert [(await consumer.getone()).value for _ in VALUES] == VALUES


async def test_aiokafka_is_not_let_in_without_a_certificate(served: Served) -> None:
    producer = AIOKafkaProducer(**aiokafka(served, shown=False))
    with pytest.raises(KafkaConnectionError):
        await producer.start()
    await producer.stop()


def test_what_the_broker_says_of_itself_is_enough() -> None:
    with MockBroker(tls="auto", config={"ssl.client.auth": "required"}) as broker:
        producer = Producer(broker.client_config("confluent", certificate="alice"))
        producer.produce(TOPIC, b"1")
        assert producer.flush(20) == 0

        async def send() -> None:
            async with AIOKafkaProducer(**broker.client_config("aiokafka")) as aio:
                await aio.send_and_wait(TOPIC, b"2")

        asyncio.run(send())
        assert [record.value for record in broker.topic(TOPIC).records()] == [b"1", b"2"]
