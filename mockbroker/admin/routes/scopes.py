"""Scopes: what is done in one is taken back when it ends, as `MockBroker.scope` does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Path, Request
from pydantic import BaseModel

from mockbroker.admin.deps import INT64_MAX, TheHost
from mockbroker.admin.problems import ApiError, problems

if TYPE_CHECKING:
    from mockbroker.state.scope import Scope

router = APIRouter(tags=["state"])

MAX_SCOPES = 1000
ScopeId = Annotated[int, Path(ge=0, le=INT64_MAX)]


class ScopeOut(BaseModel):
    """An open scope."""

    id: int


@router.post("/scopes", status_code=201, responses=problems(409))
async def begin_scope(request: Request, host: TheHost) -> ScopeOut:
    """Begin a scope, inside of those that are open. A reset ends all of them."""
    kept = _open(request)
    for scope_id in [one for one, scope in kept.items() if not host.scopes.is_open(scope)]:
        del kept[scope_id]
    if len(kept) >= MAX_SCOPES:
        raise ApiError(409, f"there are {MAX_SCOPES} open scopes already: end one")
    scope_id = request.app.state.next_scope = getattr(request.app.state, "next_scope", 0) + 1
    kept[scope_id] = host.act(lambda _: host.scopes.begin())
    return ScopeOut(id=scope_id)


@router.delete("/scopes/{scope_id}", status_code=204, responses=problems(404))
async def end_scope(request: Request, host: TheHost, scope_id: ScopeId) -> None:
    """Make the broker what it was when the scope began; those that began in it end too."""
    scope = _open(request).pop(scope_id, None)
    if scope is None or not host.scopes.is_open(scope):
        raise ApiError(404, f"there is no open scope {scope_id}", "scope_id")
    host.act(lambda _: host.scopes.end(scope))


def _open(request: Request) -> dict[int, Scope[Any]]:
    kept: dict[int, Scope[Any]] = request.app.state.scopes
    return kept
