"""Heartbeat (12), v0–v4: a member lives, and learns that its group rebalances.

v1 throttle time · v3 GroupInstanceId (KIP-345) · v4 flexible.
Rules: `coordinator.group.sessions`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.apis.context import PARKED, Verdict
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker_protocol.errors import ErrorCode

if TYPE_CHECKING:
    from mockbroker.apis.auth_helper import AuthHelper
    from mockbroker.apis.context import RequestContext, Services
    from mockbroker_protocol.messages.group_membership import HeartbeatRequest, HeartbeatResponse

_ANSWERS = (ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS)
"""The others say that the request is wrong (GroupMetadataManager.validateClassicGroupHeartbeat)."""


def handle(
    services: Services, ctx: RequestContext, request: HeartbeatRequest
) -> HeartbeatResponse | Verdict:
    """0, or what the member must do: 27 join again, 22, 25 and 82 it is out.

    What follows from the group's state waits until that is replicated.
    """
    service = services.groups.service
    response = service.heartbeat(request)
    response.throttle_time_ms = ctx.throttle_time_ms
    if response.error_code not in _ANSWERS or not service.runtime.is_ahead(request.group_id):
        return response

    def committed(error: ErrorCode) -> None:
        response.error_code = error or response.error_code
        ctx.respond(response)

    service.runtime.when_committed(request.group_id, committed)
    return PARKED


def guard(auth: AuthHelper, request: HeartbeatRequest) -> object | None:
    """READ on the group."""
    return auth.require_group(AclOperation.READ, request.group_id)
