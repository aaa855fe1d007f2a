"""DeleteGroups (42), v0–v3: delete empty groups with their offsets (KIP-229).

v2 flexible · v3 ErrorMessage. 68 for a group with members, 69 for one that is not there; a name
that comes twice is answered once.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from mockbroker.apis.context import PARKED, Verdict
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.group_admin import DeletableGroupResult, DeleteGroupsResponse

if TYPE_CHECKING:
    from mockbroker.apis.auth_helper import AuthHelper
    from mockbroker.apis.context import RequestContext, Services
    from mockbroker_protocol.messages.group_admin import DeleteGroupsRequest


def handle(
    services: Services, ctx: RequestContext, request: DeleteGroupsRequest
) -> DeleteGroupsResponse | Verdict:
    """Answer when the last group's tombstones are written."""
    group_ids = list(dict.fromkeys(request.groups_names))
    if not group_ids:
        return DeleteGroupsResponse(throttle_time_ms=ctx.throttle_time_ms)
    errors: dict[str, ErrorCode] = {}
    for group_id in group_ids:
        services.groups.service.delete_group(
            group_id, partial(_collect, ctx, group_ids, errors, group_id)
        )
    return PARKED


def _collect(
    ctx: RequestContext,
    group_ids: list[str],
    errors: dict[str, ErrorCode],
    group_id: str,
    error: ErrorCode,
) -> None:
    errors[group_id] = error
    if len(errors) == len(group_ids):
        results = [DeletableGroupResult(group_id=one, error_code=errors[one]) for one in group_ids]
        ctx.respond(DeleteGroupsResponse(throttle_time_ms=ctx.throttle_time_ms, results=results))


def guard(auth: AuthHelper, request: DeleteGroupsRequest) -> None:
    """DELETE on each group."""
    asked = request.groups_names
    request.groups_names = [
        name for name in asked if auth.authorize_group(AclOperation.DELETE, name)
    ]
    known = set(request.groups_names)
    denied = ErrorCode.GROUP_AUTHORIZATION_FAILED
    auth.append(
        "results", [DeletableGroupResult(name, denied) for name in asked if name not in known]
    )
