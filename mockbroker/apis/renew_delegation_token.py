"""RenewDelegationToken (39), v1–v2: let a token live longer (KIP-48).

Its owner and its renewers may.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.metadata.delegation_token_control import renew_token
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.delegation_tokens import RenewDelegationTokenResponse

if TYPE_CHECKING:
    from mockbroker.apis.context import RequestContext, Services
    from mockbroker.metadata.store import MetadataStore
    from mockbroker_protocol.messages.delegation_tokens import RenewDelegationTokenRequest

guard = None


def handle(
    services: Services, ctx: RequestContext, request: RenewDelegationTokenRequest
) -> RenewDelegationTokenResponse:
    if not services.may_ask_for_tokens(ctx):
        refused = ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
        return RenewDelegationTokenResponse(refused, -1, ctx.throttle_time_ms)

    def renew(store: MetadataStore) -> tuple[ErrorCode, int]:
        hmac, period_ms = bytes(request.hmac), request.renew_period_ms
        return renew_token(store, services.clock, ctx.principal, hmac, period_ms)

    error, expiry_ms = services.controller.carry_out(renew, (ErrorCode.REQUEST_TIMED_OUT, 0))
    return RenewDelegationTokenResponse(error, expiry_ms, ctx.throttle_time_ms)
