"""Scopes: what is done in one is taken back when it ends, as `MockBroker.scope` does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Path, Request
from pydantic import BaseModel

from mockbroker.admin.deps import INT64_MAX, TheHost
from mockbroker.admin.problems import ApiError, problems

if TYPE_CHECKING:
    from mockbroker.admin.host import Host
    from mockbroker.state.scope import Scope

router = APIRouter(tags=["state"])

MAX_SCOPES = 1000
ScopeId = Annotated[int, Path(ge=0, le=INT64_MAX)]


class ScopeOut(BaseModel):
    """An open scope."""

    id: int


class ScopesOut(BaseModel):
    """The open scopes; what the end of the last one, or a reset, could not take back."""

    scopes: list[ScopeOut]
    left_over: list[str]


@router.get("/scopes")
async def list_scopes(request: Request, host: TheHost) -> ScopesOut:
    """The scopes that are open; `left_over` is empty as a rule."""
    return ScopesOut(
        scopes=[ScopeOut(id=scope_id) for scope_id in _open(request, host)],
        left_over=list(host.act(lambda _: host.scopes.left_over)),
    )


@router.post("/scopes", status_code=201, responses=problems(409))
async def begin_scope(request: Request, host: TheHost) -> ScopeOut:
    """Begin a scope, inside of those that are open. A reset ends all of them."""
    kept = _open(request, host)
    if len(kept) >= MAX_SCOPES:
        raise ApiError(409, f"there are {MAX_SCOPES} open scopes already: end one")
    scope_id = request.app.state.next_scope = getattr(request.app.state, "next_scope", 0) + 1
    kept[scope_id] = host.act(lambda _: host.scopes.begin())
    return ScopeOut(id=scope_id)


@router.delete("/scopes/{scope_id:name}", status_code=204, responses=problems(404))
async def end_scope(request: Request, host: TheHost, scope_id: ScopeId) -> None:
    """Make the broker what it was when the scope began; those that began in it end too."""
    scope = _open(request, host).pop(scope_id, None)
    if scope is None:
        raise ApiError(404, f"there is no open scope {scope_id}", "scope_id")
    host.act(lambda _: host.scopes.end(scope))


def _open(request: Request, host: Host) -> dict[int, Scope[Any]]:
    """Those that began here and did not end with one around them, or by a reset."""
    kept: dict[int, Scope[Any]] = request.app.state.scopes
    for scope_id in [one for one, scope in kept.items() if not host.scopes.is_open(scope)]:
        del kept[scope_id]
    return kept
