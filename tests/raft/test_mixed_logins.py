"""Users of SCRAM and delegation tokens are one on our brokers and on one of Apache Kafka.

Whoever is asked for one of them has our controller make it; both hear of it by the metadata log,
and take the login.
"""

from __future__ import annotations

import asyncio
from base64 import b64encode
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import pytest

from mockbroker.testing.mock_broker import MockBroker
from mockbroker_protocol.messages.delegation_tokens import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
)
from mockbroker_protocol.messages.sasl import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from mockbroker_protocol.messages.scram import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from simulation.scram_client import ScramClient, salted_password
from tests.raft.test_mixed_security import ask
from tests.raft.test_real_followers import kafka_jars
from tests.support.free_ports import free_ports
from tests.support.real_brokers import RealBroker, until
from tests.support.sockets import RawConnection

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

__all__ = ["kafka_jars"]

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(240)]
T = TypeVar("T")
SECURITY = "org.apache.kafka.common.security"
CONFIGS = {
    "listener.security.protocol.map": (
        "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL:SASL_PLAINTEXT"
    ),
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
    "listener.name.sasl.plain.sasl.jaas.config": (
        f'{SECURITY}.plain.PlainLoginModule required user_admin="admin-secret";'
    ),
    "listener.name.sasl.scram-sha-256.sasl.jaas.config": (
        f"{SECURITY}.scram.ScramLoginModule required;"
    ),
    "delegation.token.secret.key": "a-key",
}
SCRAM, SCRAM_NUMBER = "SCRAM-SHA-256", 1
SALT, ITERATIONS = b"salt", 4096
HOUR_MS = 3_600_000


async def _token(connection: RawConnection, data: bytes) -> SaslAuthenticateResponse:
    return await connection.call(SaslAuthenticateRequest(data), 2, SaslAuthenticateResponse)


async def _shake_hands(connection: RawConnection, mechanism: str) -> None:
    answer = await connection.call(SaslHandshakeRequest(mechanism), 1, SaslHandshakeResponse)
    assert answer.error_code == 0


@asynccontextmanager
async def _as_admin(address: str) -> AsyncIterator[RawConnection]:
    async with await RawConnection.open(address) as connection:
        await _shake_hands(connection, "PLAIN")
        assert (await _token(connection, b"\0admin\0admin-secret")).error_code == 0
        yield connection


def admin(address: str, request: object, version: int, kind: type[T]) -> T:
    """What a broker answers to the admin, at its listener with SASL."""

    async def call() -> T:
        async with _as_admin(address) as connection:
            return await connection.call(request, version, kind)

    return asyncio.run(call())


def logs_in(address: str, user: str, password: str, extensions: str = "") -> bool:
    """Whether a broker takes a login by SCRAM, and knows the secret too."""

    async def call() -> bool:
        async with await RawConnection.open(address) as connection:
            await _shake_hands(connection, SCRAM)
            client = ScramClient(SCRAM, user, password)
            answer = await _token(connection, client.first(extensions=extensions))
            if answer.error_code:
                return False
            answer = await _token(connection, client.last(answer.auth_bytes))
            return not answer.error_code and client.is_server(answer.auth_bytes)

    return asyncio.run(call())


def alter(address: str, request: AlterUserScramCredentialsRequest) -> None:
    answer = ask(address, request, 0, AlterUserScramCredentialsResponse)
    assert [one.error_code for one in answer.results] == [0]


def expiry(address: str, hmac: bytes) -> int | None:
    """When the token with the HMAC expires, as a broker tells the admin; None: it has none."""
    request = DescribeDelegationTokenRequest(None)
    answer = admin(address, request, 3, DescribeDelegationTokenResponse)
    assert answer.error_code == 0
    found = {bytes(one.hmac): one.expiry_timestamp for one in answer.tokens}
    return found.get(hmac)


def test_logins_are_one_on_both(tmp_path: Path) -> None:
    ports = free_ports(4)
    plain, sasl, real_plain, real_sasl = (f"127.0.0.1:{port}" for port in ports)
    configs = [f"{key}={value}" for key, value in CONFIGS.items()]
    places = f"listeners=PLAINTEXT://{real_plain},SASL://{real_sasl}"
    listeners = [f"PLAINTEXT://{plain}", f"SASL://{sasl}"]
    with MockBroker(listeners=listeners, controller_port=0, config=CONFIGS) as broker:
        real = RealBroker(broker, tmp_path, 2, *configs, places)
        real.address = real_plain
        with real:
            for maker, other, name in ((plain, real_plain, "one"), (real_plain, plain, "two")):
                salted = salted_password(SCRAM, f"{name}-secret", SALT, ITERATIONS)
                made = ScramCredentialUpsertion(name, SCRAM_NUMBER, ITERATIONS, SALT, salted)
                alter(maker, AlterUserScramCredentialsRequest([], [made]))
                for there in (sasl, real_sasl):
                    until(partial(logs_in, there, name, f"{name}-secret"))
                    assert not logs_in(there, name, "wrong")
                gone = ScramCredentialDeletion(name, SCRAM_NUMBER)
                alter(other, AlterUserScramCredentialsRequest([gone], []))
                for there in (sasl, real_sasl):
                    until(lambda: not logs_in(there, name, f"{name}-secret"))  # noqa: B023
            for maker, other in ((sasl, real_sasl), (real_sasl, sasl)):
                wanted = CreateDelegationTokenRequest(None, None, [], -1)
                token = admin(maker, wanted, 3, CreateDelegationTokenResponse)
                assert (token.error_code, token.principal_name) == (0, "admin")
                hmac = bytes(token.hmac)
                password = b64encode(hmac).decode()
                for there in (sasl, real_sasl):
                    until(lambda: expiry(there, hmac) == token.expiry_timestamp_ms)  # noqa: B023
                    assert logs_in(there, token.token_id, password, ",tokenauth=true")
                renewal = RenewDelegationTokenRequest(hmac, HOUR_MS)
                renewed = admin(other, renewal, 2, RenewDelegationTokenResponse)
                assert renewed.error_code == 0
                for there in (sasl, real_sasl):
                    until(lambda: expiry(there, hmac) == renewed.expiry_timestamp_ms)  # noqa: B023
                ending = ExpireDelegationTokenRequest(hmac, -1)
                ended = admin(other, ending, 2, ExpireDelegationTokenResponse)
                assert ended.error_code == 0
                for there in (sasl, real_sasl):
                    until(lambda: expiry(there, hmac) is None)  # noqa: B023
                    assert not logs_in(there, token.token_id, password, ",tokenauth=true")
