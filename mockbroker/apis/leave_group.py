"""LeaveGroup (13), v0–v5: members go, and the others rebalance.

v1 throttle time · v3 many members with an error each, static ones by instance id (KIP-345) ·
v4 flexible · v5 Reason (KIP-800). Rules: `coordinator.group.sessions`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.apis.context import PARKED, Verdict
from mockbroker.metadata.authorized_operations import AclOperation

if TYPE_CHECKING:
    from mockbroker.apis.auth_helper import AuthHelper
    from mockbroker.apis.context import RequestContext, Services
    from mockbroker_protocol.messages.group_membership import LeaveGroupRequest, LeaveGroupResponse


def handle(services: Services, ctx: RequestContext, request: LeaveGroupRequest) -> Verdict:
    """Answer through `ctx.respond`, at once or when it is written."""

    def respond(response: LeaveGroupResponse) -> None:
        response.throttle_time_ms = ctx.throttle_time_ms
        ctx.respond(response)

    services.groups.service.leave(request, ctx.api_version, respond)
    return PARKED


def guard(auth: AuthHelper, request: LeaveGroupRequest) -> object | None:
    """READ on the group."""
    return auth.require_group(AclOperation.READ, request.group_id)
