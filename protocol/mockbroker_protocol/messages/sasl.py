"""SaslHandshake and SaslAuthenticate: the exchange before a connection is authenticated."""

# A declared class makes its list defaults anew for each instance.
from __future__ import annotations

from typing import Annotated

from mockbroker_protocol.schema import V, int16, int64, message


@message(api_key=17)
class SaslHandshakeRequest:
    """Choose a mechanism."""

    mechanism: str = ""


@message(api_key=17)
class SaslHandshakeResponse:
    """Mechanisms enabled, and whether the chosen one is among them."""

    error_code: int16 = 0
    mechanisms: list[str] = []


@message(api_key=36)
class SaslAuthenticateRequest:
    """A token of the mechanism from the client."""

    auth_bytes: bytes = b""


@message(api_key=36)
class SaslAuthenticateResponse:
    """The answer of the mechanism, and how long the session lasts (KIP-368)."""

    error_code: int16 = 0
    error_message: Annotated[str | None, V(nullable=0)] = ""
    auth_bytes: bytes = b""
    session_lifetime_ms: Annotated[int64, V(since=1, ignorable=True)] = 0
