"""CreateDelegationToken (38), v1–v3: a login for others, for a while (KIP-48).

v2 flexible · v3 for another owner, if the requester may CREATE_TOKENS of it (KIP-373).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from mockbroker.metadata.acls import ResourceType
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker.metadata.delegation_token_control import Wanted, create_token
from mockbroker.metadata.names import random_uuid
from mockbroker.security.token_requests import parts_of, principal_of
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.delegation_tokens import CreateDelegationTokenResponse
from mockbroker_protocol.primitives import uuid_text
from mockbroker_protocol.versions import CREATE_DELEGATION_TOKEN_REQUESTER

if TYPE_CHECKING:
    from mockbroker.apis.auth_helper import AuthHelper
    from mockbroker.apis.context import RequestContext, Services
    from mockbroker.metadata.delegation_tokens import DelegationToken
    from mockbroker_protocol.messages.delegation_tokens import CreateDelegationTokenRequest


def handle(
    services: Services, ctx: RequestContext, request: CreateDelegationTokenRequest
) -> CreateDelegationTokenResponse:
    owner = _owner(ctx, request)
    if not services.may_ask_for_tokens(ctx):
        return _refused(ctx, owner, ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)
    if any(one.principal_type != "User" for one in request.renewers):
        return _refused(ctx, owner, ErrorCode.INVALID_PRINCIPAL_TYPE)
    wanted = Wanted(
        uuid_text(random_uuid(services.rng)),
        owner,
        ctx.principal,
        [principal_of(one.principal_type, one.principal_name) for one in request.renewers],
        request.max_lifetime_ms,
    )
    late: tuple[ErrorCode, DelegationToken | None] = (ErrorCode.REQUEST_TIMED_OUT, None)
    create = partial(create_token, clock=services.clock, wanted=wanted)
    error, token = services.controller.carry_out(create, late)
    whose = _whose(ctx, owner)
    if token is None:
        return CreateDelegationTokenResponse(error, *whose, throttle_time_ms=ctx.throttle_time_ms)
    times = (token.issue_wall_ms, token.expiry_wall_ms, token.max_wall_ms)
    return CreateDelegationTokenResponse(
        0, *whose, *times, token.token_id, token.hmac, ctx.throttle_time_ms
    )


def guard(
    auth: AuthHelper, request: CreateDelegationTokenRequest
) -> CreateDelegationTokenResponse | None:
    """CREATE_TOKENS on the user that shall own it, where that is somebody else."""
    ctx = auth.ctx
    owner = _owner(ctx, request)
    if owner == ctx.principal or not auth.services.may_ask_for_tokens(ctx):
        return None
    if auth.authorize(AclOperation.CREATE_TOKENS, ResourceType.USER, owner):
        return None
    return _refused(ctx, owner, ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED)


def _owner(ctx: RequestContext, request: CreateDelegationTokenRequest) -> str:
    name = request.owner_principal_name
    return principal_of(request.owner_principal_type or "", name) if name else ctx.principal


def _refused(ctx: RequestContext, owner: str, error: ErrorCode) -> CreateDelegationTokenResponse:
    """CreateDelegationTokenResponse.prepareResponse of an error."""
    return CreateDelegationTokenResponse(
        error, *_whose(ctx, owner), -1, -1, -1, "", b"", ctx.throttle_time_ms
    )


def _whose(ctx: RequestContext, owner: str) -> tuple[str, str, str, str]:
    """Types and names of the owner, and of who asked where the version has that."""
    tells_requester = ctx.api_version >= CREATE_DELEGATION_TOKEN_REQUESTER
    return (*parts_of(owner), *(parts_of(ctx.principal) if tells_requester else ("", "")))
