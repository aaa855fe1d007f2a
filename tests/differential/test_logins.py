"""Right and wrong logins are answered byte for byte as Apache Kafka does, and end alike."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pytest

from mockbroker import MockBroker
from tests.differential.conftest import kafka
from tests.differential.login_steps import exchanges, renewals
from tests.support.free_ports import free_ports

if TYPE_CHECKING:
    from collections.abc import Iterable

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(240)]

SECURITY = "org.apache.kafka.common.security"
USERS = (
    f"{SECURITY}.plain.PlainLoginModule required "
    'user_alice="alice-secret" user_admin="admin-secret";'
)
MAP = "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL:SASL_PLAINTEXT,ENDING:SASL_PLAINTEXT"
MECHANISMS = "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER"
COMMON = (
    f"listener.security.protocol.map={MAP}",
    "sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256",
    f"listener.name.sasl.sasl.enabled.mechanisms={MECHANISMS}",
    f"listener.name.sasl.plain.sasl.jaas.config={USERS}",
    f"listener.name.ending.plain.sasl.jaas.config={USERS}",
    "listener.name.ending.connections.max.reauth.ms=600000",
    "connection.failed.authentication.delay.ms=20",
    *(
        f"listener.name.{name}.{mechanism}.sasl.jaas.config={SECURITY}.{module} required;"
        for name in ("sasl", "ending")
        for mechanism, module in (
            ("scram-sha-256", "scram.ScramLoginModule"),
            ("scram-sha-512", "scram.ScramLoginModule"),
            ("oauthbearer", "oauthbearer.OAuthBearerLoginModule"),
        )
    ),
)


def answer_to(connection: socket.socket, data: bytes) -> str:
    """The next frame, or how the connection ended."""
    try:
        connection.sendall(data)
        head = read(connection, 4)
        body = read(connection, int.from_bytes(head, "big")) if head else b""
    except OSError:
        return "closed"
    if not head:
        return "closed"
    return "versions" if len(body) > 200 else body.hex()


def read(connection: socket.socket, count: int) -> bytes:
    """So many bytes; nothing when it ended."""
    found = b""
    while len(found) < count:
        part = connection.recv(count - len(found))
        if not part:
            return b""
        found += part
    return found


def answers(port: int, each: Iterable[tuple[str, list[bytes]]]) -> dict[str, list[str]]:
    """What came back of each exchange, up to its end."""
    found: dict[str, list[str]] = {}
    for name, frames in each:
        told = found[name] = []
        with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
            for data in frames:
                told.append(answer_to(connection, data))
                if told[-1] == "closed":
                    break
    return found


def all_answers(ports: list[int]) -> dict[str, list[str]]:
    sasl, ending = ports
    renewed = {f"renewal {name}": told for name, told in answers(ending, renewals()).items()}
    return answers(sasl, exchanges()) | renewed


def listeners(first: int, ports: list[int]) -> list[str]:
    named = zip(("PLAINTEXT", "SASL", "ENDING"), (first, *ports), strict=True)
    return [f"{name}://127.0.0.1:{port}" for name, port in named]


def test_logins_end_as_with_apache_kafka() -> None:
    first, controller, *ports = free_ports(4)
    theirs = listeners(first, ports)
    places = (
        f"controller.quorum.voters=1@127.0.0.1:{controller}",
        f"listeners={','.join((*theirs, f'CONTROLLER://127.0.0.1:{controller}'))}",
        f"advertised.listeners={','.join(theirs)}",
    )
    with kafka(*COMMON, *places, port=first):
        expected = all_answers(ports)
    first, *ports = free_ports(3)
    config = dict(one.split("=", 1) for one in COMMON)
    with MockBroker(listeners=listeners(first, ports), config=config):
        found = all_answers(ports)
    assert sum(map(len, expected.values())) > 250
    differing = {name for name, told in expected.items() if found[name] != told}
    assert {name: (expected[name], found[name]) for name in differing} == {}
