"""Cores with listeners that want a login, and clients that log in there."""

from __future__ import annotations

import base64
import json
from random import Random
from typing import TYPE_CHECKING

from mockbroker.clock import Clock
from mockbroker.config.broker import BrokerConfig
from mockbroker.metadata.store import MetadataStore
from mockbroker.security.mechanism import SaslError
from mockbroker.security.mechanisms import Mechanisms
from mockbroker_protocol.messages.sasl import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from simulation.scram_client import ScramClient
from tests.support.core import Core

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.support.core import CoreClient

LISTENER = "SASL"
MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
USERS = f'{MODULE} required user_alice="alice-secret" user_admin="admin-secret";'
ALICE = b"\0alice\0alice-secret"
ADMIN = b"\0admin\0admin-secret"
DELAY_MS = 100
CONFIG = {
    "listener.security.protocol.map": f"PLAINTEXT:PLAINTEXT,{LISTENER}:SASL_PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN",
    f"listener.name.{LISTENER.lower()}.plain.sasl.jaas.config": USERS,
    "connection.failed.authentication.delay.ms": str(DELAY_MS),
}


def login_core(config: Mapping[str, str] | None = None) -> Core:
    """A core that also listens at `LISTENER`, with two users."""
    return Core(config={**CONFIG, **(config or {})}, topics={"orders": 1})


def handshake(client: CoreClient, mechanism: str = "PLAIN", version: int = 1) -> None:
    """Choose a mechanism that is enabled."""
    answer = client.call(SaslHandshakeRequest(mechanism), version, SaslHandshakeResponse)
    assert answer.error_code == 0


def token(client: CoreClient, data: bytes = ALICE, version: int = 2) -> SaslAuthenticateResponse:
    """Send a token, and have its answer even where it comes late."""
    client.send(SaslAuthenticateRequest(data), version)
    if not client.answered:
        client.core.advance(DELAY_MS)
    return client.receive(SaslAuthenticateResponse)


def scram_login(
    client: CoreClient, mechanism: str, user: str, password: str
) -> SaslAuthenticateResponse:
    """The last answer of an exchange, after a handshake; a good one is the server's proof too."""
    exchange = ScramClient(mechanism, user, password)
    answer = token(client, exchange.first())
    if answer.error_code:
        return answer
    answer = token(client, exchange.last(answer.auth_bytes))
    assert answer.error_code or exchange.is_server(answer.auth_bytes)
    return answer


def encoded(*parts: Mapping[str, object]) -> str:
    """A compact serialization without a signature."""
    texts = (json.dumps(part).encode() for part in parts)
    return ".".join(base64.urlsafe_b64encode(text).decode().rstrip("=") for text in texts) + "."


def bearer_token(user: str, issued: float | None, expires: float) -> str:
    """An unsecured token."""
    issue = {} if issued is None else {"iat": issued}
    return encoded({"alg": "none"}, {"sub": user, "exp": expires, **issue})


def bearer(token: str, authzid: str = "", extensions: str = "") -> bytes:
    """The client's message of OAUTHBEARER."""
    return f"n,{authzid},\x01auth=Bearer {token}\x01{extensions}\x01".encode()


def logged_in(core: Core, data: bytes = ALICE) -> CoreClient:
    """A client that has logged in."""
    client = core.client(listener=LISTENER)
    handshake(client)
    assert token(client, data).error_code == 0
    return client


TOKENS = (ALICE, b"n,,n=alice,r=abc", b"n,,\x01auth=Bearer e30.e30.\x01\x01", b"")


def try_to_get_in(mechanism: str, tries: int) -> None:
    """By tokens that are nearly right: nobody must, and nothing must break but by a SaslError."""
    dice = Random(7)
    config = BrokerConfig(CONFIG)
    mechanisms = Mechanisms(config, MetadataStore("c", config), dice, Clock())
    for _ in range(tries):
        exchange = mechanisms.make(mechanism, LISTENER)
        mangled = _mangled(dice)
        if mangled in TOKENS:
            continue
        try:
            exchange.evaluate(mangled)
        except SaslError:
            pass
        assert not exchange.complete


def _mangled(dice: Random) -> bytes:
    data = bytearray(dice.choice(TOKENS))
    for _ in range(dice.randint(1, 4)):
        at = dice.randrange(len(data) + 1)
        data[at : at + dice.randint(0, 2)] = dice.randbytes(dice.randint(0, 2))
    return bytes(data)
