"""Right and wrong logins are answered byte for byte as Apache Kafka does, and end alike."""

from __future__ import annotations

import socket
from itertools import chain
from typing import TYPE_CHECKING

import pytest

from mockbroker import MockBroker
from simulation.scram_client import HASHES
from tests.differential.conftest import kafka
from tests.differential.login_steps import ALICE, ANY, exchanges, handshake, others, renewals, token
from tests.differential.scram_login_steps import (
    create_token,
    created,
    exchange,
    masked,
    scram_exchanges,
    scram_renewals,
    users,
)
from tests.support.free_ports import free_ports

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tests.differential.scram_login_steps import Sent, Token

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(480)]

SECURITY = "org.apache.kafka.common.security"
USERS = (
    f"{SECURITY}.plain.PlainLoginModule required "
    'user_alice="alice-secret" user_admin="admin-secret";'
)
MAP = "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL:SASL_PLAINTEXT,ENDING:SASL_PLAINTEXT"
MECHANISMS = "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER"
TRIES = 100
COMMON = (
    f"listener.security.protocol.map={MAP}",
    "sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
    f"listener.name.sasl.sasl.enabled.mechanisms={MECHANISMS}",
    f"listener.name.sasl.plain.sasl.jaas.config={USERS}",
    f"listener.name.ending.plain.sasl.jaas.config={USERS}",
    "listener.name.ending.connections.max.reauth.ms=600000",
    "connection.failed.authentication.delay.ms=2",
    "delegation.token.secret.key=a-key",
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


def answer_to(connection: socket.socket, data: bytes) -> bytes | None:
    """The next frame; None: the connection ended."""
    try:
        connection.sendall(data)
        head = read(connection, 4)
        body = read(connection, int.from_bytes(head, "big")) if head else b""
    except OSError:
        return None
    return body if head else None


def read(connection: socket.socket, count: int) -> bytes:
    """So many bytes; nothing when it ended."""
    found = b""
    while len(found) < count:
        part = connection.recv(count - len(found))
        if not part:
            return b""
        found += part
    return found


def answers(port: int, each: Iterable[tuple[str, Sequence[Sent]]]) -> dict[str, list[str]]:
    """What came back of each exchange, up to its end."""
    return {name: told for name, frames in each for told, _ in (talk(port, frames),)}


def talk(port: int, frames: Sequence[Sent]) -> tuple[list[str], bytes]:
    """What came back on one connection, and the last of it as it was."""
    told: list[str] = []
    last = b""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        for data in frames:
            answer = answer_to(connection, data(last) if callable(data) else data)
            if answer is None:
                return [*told, "closed"], b""
            last = answer
            told.append("versions" if len(last) > 200 else masked(last))
    return told, last


def prepare(port: int) -> Token:
    """Make users, and a token of alice's; wait until they can log in."""
    talk(port, [handshake(), token(ALICE), *users()])
    for mechanism in HASHES:
        for _ in range(TRIES):
            if "closed" not in talk(port, [*exchange(mechanism), ANY])[0]:
                break
    made = created(talk(port, create_token())[1])
    for _ in range(TRIES):
        by_token = exchange("SCRAM-SHA-256", *made, extensions=",tokenauth=true")
        if "closed" not in talk(port, [*by_token, ANY])[0]:
            break
    return made


def all_answers(ports: list[int]) -> dict[str, list[str]]:
    sasl, ending = ports
    alices = prepare(sasl)
    renewed: Iterable[tuple[str, Sequence[Sent]]] = chain(renewals(), scram_renewals())
    told = answers(ending, ((f"renewal {name}", sent) for name, sent in renewed))
    begun: Iterable[tuple[str, Sequence[Sent]]] = chain(
        exchanges(), others(), scram_exchanges(alices)
    )
    return answers(sasl, begun) | told


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
    assert sum(map(len, expected.values())) > 1000
    differing = {name for name, told in expected.items() if found[name] != told}
    assert {name: (expected[name], found[name]) for name in differing} == {}
