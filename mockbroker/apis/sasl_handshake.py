"""SaslHandshake: the client chooses a mechanism (KIP-43; Kafka: SaslServerAuthenticator).

Where nobody is to log in, or somebody has: error 34. Where it may come, `node.sasl_gate` knows.

Versions: after v0 tokens come without a request around them, after v1 in SaslAuthenticate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.security.authenticator import State
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.sasl import SaslHandshakeResponse

if TYPE_CHECKING:
    from mockbroker.apis.context import RequestContext, Services
    from mockbroker_protocol.messages.sasl import SaslHandshakeRequest

guard = None  # anybody may ask


def handle(services: Services, ctx: RequestContext, request: SaslHandshakeRequest) -> object:
    login = services.logins.get(ctx.connection_id)
    if login is None or login.authenticator.state is State.COMPLETE:
        return SaslHandshakeResponse(ErrorCode.ILLEGAL_SASL_STATE)
    authenticator = login.authenticator
    mechanisms = authenticator.mechanisms
    wanted = request.mechanism
    if wanted in mechanisms:
        authenticator.choose(wanted, bare_tokens=ctx.api_version == 0)
        return SaslHandshakeResponse(mechanisms=mechanisms)
    reason = f"Unsupported SASL mechanism {wanted}"
    if authenticator.renews:
        return login.cut(reason)
    refused = ErrorCode.UNSUPPORTED_SASL_MECHANISM
    return login.fail(ctx, SaslHandshakeResponse(refused, mechanisms), reason)
