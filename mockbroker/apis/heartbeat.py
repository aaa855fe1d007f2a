"""Heartbeat (12), v0–v4: a member lives, and learns that its group rebalances.

v1 throttle time · v3 GroupInstanceId · v4 flexible. Rules: `coordinator.group.sessions`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker_protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from mockbroker.apis.context import RequestContext, Services
    from mockbroker_protocol.messages.group_membership import HeartbeatRequest, HeartbeatResponse

KEY = ApiKey.HEARTBEAT


def handle(services: Services, ctx: RequestContext, request: HeartbeatRequest) -> HeartbeatResponse:
    """0, or what the member must do: 27 join again, 22, 25 and 82 it is out."""
    response = services.groups.service.heartbeat(request)
    response.throttle_time_ms = ctx.throttle_time_ms
    return response
