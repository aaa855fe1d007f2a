"""Cores on which delegation tokens may be asked for, and clients that log in with them."""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING

from mockbroker_protocol.messages.delegation_tokens import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
    DescribedDelegationToken,
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
)
from simulation.scram_client import ScramClient
from tests.support.logins import LISTENER, handshake, login_core, token

if TYPE_CHECKING:
    from mockbroker_protocol.messages.sasl import SaslAuthenticateResponse
    from tests.support.core import Core, CoreClient

SCRAM = "SCRAM-SHA-256"
DAY_MS = 86_400_000
HOUR_MS = 3_600_000


TOKENS = {"delegation.token.secret.key": "a-key", "sasl.enabled.mechanisms": f"PLAIN,{SCRAM}"}


def token_core(**configs: str) -> Core:
    """A core with users alice and admin, and a secret key."""
    return login_core({**TOKENS, **configs})


def create(
    client: CoreClient, request: CreateDelegationTokenRequest | None = None
) -> CreateDelegationTokenResponse:
    """A new token."""
    wanted = CreateDelegationTokenRequest(None, None, [], -1) if request is None else request
    return client.call(wanted, 3, CreateDelegationTokenResponse)


def described(client: CoreClient) -> list[DescribedDelegationToken]:
    """All tokens that the client may see."""
    request = DescribeDelegationTokenRequest(None)
    answer = client.call(request, 3, DescribeDelegationTokenResponse)
    assert answer.error_code == 0
    return answer.tokens


def token_login(
    core: Core, token_id: str, hmac: bytes
) -> tuple[CoreClient, SaslAuthenticateResponse]:
    """A client that logs in with a token, and the last answer."""
    client = core.client(listener=LISTENER)
    handshake(client, SCRAM)
    exchange = ScramClient(SCRAM, token_id, b64encode(hmac).decode())
    answer = token(client, exchange.first(extensions=",tokenauth=true"))
    if not answer.error_code:
        answer = token(client, exchange.last(answer.auth_bytes))
    return client, answer
