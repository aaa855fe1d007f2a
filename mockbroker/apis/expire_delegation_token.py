"""ExpireDelegationToken (40), v1–v2: let a token live shorter, or not at all (KIP-48).

Its owner and its renewers may.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.metadata.delegation_token_control import expire_token
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.delegation_tokens import ExpireDelegationTokenResponse

if TYPE_CHECKING:
    from mockbroker.apis.context import RequestContext, Services
    from mockbroker.metadata.store import MetadataStore
    from mockbroker_protocol.messages.delegation_tokens import ExpireDelegationTokenRequest

guard = None


def handle(
    services: Services, ctx: RequestContext, request: ExpireDelegationTokenRequest
) -> ExpireDelegationTokenResponse:
    if not services.may_ask_for_tokens(ctx):
        refused = ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
        return ExpireDelegationTokenResponse(refused, -1, ctx.throttle_time_ms)

    def expire(store: MetadataStore) -> tuple[ErrorCode, int]:
        hmac, period_ms = bytes(request.hmac), request.expiry_time_period_ms
        return expire_token(store, services.clock, ctx.principal, hmac, period_ms)

    error, expiry_ms = services.controller.carry_out(expire, (ErrorCode.REQUEST_TIMED_OUT, 0))
    return ExpireDelegationTokenResponse(error, expiry_ms, ctx.throttle_time_ms)
