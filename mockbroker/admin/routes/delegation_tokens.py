"""Delegation tokens: make, look at and end them without a client."""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field

from mockbroker.admin.deps import INT64_MAX, Body, Cursor, Limit, TheHost
from mockbroker.admin.paging import page_of
from mockbroker.admin.problems import ApiError, problems
from mockbroker.state import delegation_tokens

if TYPE_CHECKING:
    from mockbroker.cluster.cluster import Cluster
    from mockbroker.metadata.delegation_tokens import DelegationToken

router = APIRouter(tags=["tokens"])

User = Annotated[str, Field(min_length=1, max_length=32_767)]
TokenId = Annotated[str, Path(max_length=64, description="Id of a delegation token")]


class DelegationTokenIn(Body):
    """What a token is to be."""

    owner: User = Field(default="client", description="A user, `alice` or `User:alice`")
    renewers: list[User] = Field(default_factory=list, max_length=1000)
    lifetime_ms: int | None = Field(
        default=None, ge=1, le=INT64_MAX, description="On the broker's clock; as configured"
    )


class DelegationTokenOut(BaseModel):
    """Whose a token is, and until when it is good, in ms since 1970."""

    token_id: str
    owner: str
    requester: str
    renewers: list[str]
    issue_ms: int
    expiry_ms: int
    max_ms: int


class NewDelegationTokenOut(DelegationTokenOut):
    """A token that was made, with what its owner proves to know."""

    hmac: str = Field(description="In base64: the password of a login by SCRAM")


class DelegationTokenPage(BaseModel):
    """A page of tokens by id."""

    delegation_tokens: list[DelegationTokenOut]
    next_cursor: str | None


class ExpiryIn(Body):
    """When a token ends."""

    after_ms: int | None = Field(
        default=None, ge=0, le=INT64_MAX, description="On the broker's clock; now, and it is gone"
    )


@router.post("/delegation-tokens", status_code=201)
async def make_delegation_token(host: TheHost, wanted: DelegationTokenIn) -> NewDelegationTokenOut:
    """Make one. Needs `delegation.token.secret.key`."""
    new = delegation_tokens.NewToken(wanted.owner, wanted.renewers, wanted.lifetime_ms)
    try:
        token = host.act(lambda cluster: delegation_tokens.make(cluster, new))
    except ValueError as error:
        raise ApiError(422, str(error)) from None
    return NewDelegationTokenOut(**_fields(token), hmac=b64encode(token.hmac).decode())


@router.get("/delegation-tokens")
async def list_delegation_tokens(
    host: TheHost,
    owner: Annotated[str | None, Query(max_length=32_767, description="Only of this user")] = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> DelegationTokenPage:
    """List those that have not ended, without their HMACs."""

    def look(cluster: Cluster) -> DelegationTokenPage:
        known = {one.token_id: one for one in delegation_tokens.listed(cluster, owner)}
        page, following = page_of(list(known), cursor, limit)
        found = [DelegationTokenOut(**_fields(known[each])) for each in page]
        return DelegationTokenPage(delegation_tokens=found, next_cursor=following)

    return host.act(look)


@router.post("/delegation-tokens/{token_id}/expire", status_code=204, responses=problems(404, 409))
async def expire_delegation_token(host: TheHost, token_id: TokenId, wanted: ExpiryIn) -> None:
    """Let one end. 409 when it has expired."""
    known = host.act(lambda cluster: delegation_tokens.find(cluster, token_id))
    if known is None:
        raise ApiError(404, f"there is no delegation token {token_id!r}", "token_id")
    try:
        host.act(lambda cluster: delegation_tokens.expire(cluster, token_id, wanted.after_ms))
    except ValueError as error:
        raise ApiError(409, str(error), "after_ms") from None


def _fields(token: DelegationToken) -> dict[str, Any]:
    return {
        "token_id": token.token_id,
        "owner": token.owner,
        "requester": token.requester,
        "renewers": list(token.renewers),
        "issue_ms": token.issue_wall_ms,
        "expiry_ms": token.expiry_wall_ms,
        "max_ms": token.max_wall_ms,
    }
