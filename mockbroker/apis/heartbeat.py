"""Heartbeat (12), v0–v4: a member lives, and learns that its group rebalances.

v1 throttle time · v3 GroupInstanceId · v4 flexible. Rules: `coordinator.group.sessions`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.metadata.authorized_operations import AclOperation

if TYPE_CHECKING:
    from mockbroker.apis.auth_helper import AuthHelper
    from mockbroker.apis.context import RequestContext, Services
    from mockbroker_protocol.messages.group_membership import HeartbeatRequest, HeartbeatResponse


def handle(services: Services, ctx: RequestContext, request: HeartbeatRequest) -> HeartbeatResponse:
    """0, or what the member must do: 27 join again, 22, 25 and 82 it is out."""
    response = services.groups.service.heartbeat(request)
    response.throttle_time_ms = ctx.throttle_time_ms
    return response


def guard(auth: AuthHelper, request: HeartbeatRequest) -> object | None:
    """READ on the group."""
    return auth.require_group(AclOperation.READ, request.group_id)
