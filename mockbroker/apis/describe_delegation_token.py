"""DescribeDelegationToken (41), v1–v3: tokens with their HMACs, to who may see them (KIP-48).

v2 flexible · v3 who asked for each. Without owners all are told; with an empty list none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.metadata.acls import ResourceType
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker.metadata.delegation_tokens import SECRET_KEY
from mockbroker.security.token_requests import parts_of, principal_of
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.delegation_tokens import (
    DescribedDelegationToken,
    DescribeDelegationTokenResponse,
    TokenPrincipal,
)
from mockbroker_protocol.versions import DESCRIBE_DELEGATION_TOKEN_REQUESTER

if TYPE_CHECKING:
    from mockbroker.apis.auth_helper import AuthHelper
    from mockbroker.apis.context import RequestContext, Services
    from mockbroker.metadata.delegation_tokens import DelegationToken
    from mockbroker_protocol.messages.delegation_tokens import DescribeDelegationTokenRequest


def handle(
    services: Services, ctx: RequestContext, request: DescribeDelegationTokenRequest
) -> DescribeDelegationTokenResponse:
    if not services.may_ask_for_tokens(ctx):
        refused = ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
        return DescribeDelegationTokenResponse(refused, [], ctx.throttle_time_ms)
    config = services.config
    if not config.text(SECRET_KEY):
        disabled = ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED
        return DescribeDelegationTokenResponse(disabled, [], ctx.throttle_time_ms)
    owners = request.owners
    wanted = {principal_of(one.principal_type, one.principal_name) for one in owners or ()}
    tells_requester = ctx.api_version >= DESCRIBE_DELEGATION_TOKEN_REQUESTER
    tokens = [
        _described(token, tells_requester)
        for token in services.metadata.delegation_tokens.values()
        if (owners is None or any(token.is_shown_to(owner) for owner in wanted))
        and not token.is_removed(config, services.clock)
    ]
    return DescribeDelegationTokenResponse(0, tokens, ctx.throttle_time_ms)


def guard(auth: AuthHelper, _: DescribeDelegationTokenRequest) -> None:
    """Those of others: DESCRIBE on the token, or DESCRIBE_TOKENS on its owner."""
    tokens = auth.services.metadata.delegation_tokens

    def is_told(described: DescribedDelegationToken) -> bool:
        token = tokens[described.token_id]
        return (
            token.is_shown_to(auth.ctx.principal)
            or auth.authorize(AclOperation.DESCRIBE, ResourceType.DELEGATION_TOKEN, token.token_id)
            or auth.authorize(AclOperation.DESCRIBE_TOKENS, ResourceType.USER, token.owner)
        )

    def amend(response: DescribeDelegationTokenResponse) -> None:
        response.tokens = [token for token in response.tokens if is_told(token)]

    auth.amend(amend)


def _described(token: DelegationToken, tells_requester: bool) -> DescribedDelegationToken:
    return DescribedDelegationToken(
        *parts_of(token.owner),
        *(parts_of(token.requester) if tells_requester else ("", "")),
        token.issue_wall_ms,
        token.expiry_wall_ms,
        token.max_wall_ms,
        token.token_id,
        token.hmac,
        [TokenPrincipal(*parts_of(renewer)) for renewer in token.renewers],
    )
