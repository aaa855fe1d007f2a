"""SyncGroup (14), v0–v5: the leader brings assignments, each member takes its own.

v1 throttle time · v3 GroupInstanceId · v4 flexible · v5 ProtocolType and ProtocolName, which the
request must have (KIP-559).

Parked until the leader has synced. Rules: `coordinator.group.sync`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.apis.context import PARKED, Verdict
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.group_membership import SyncGroupResponse
from mockbroker_protocol.versions import SYNC_GROUP_PROTOCOL

if TYPE_CHECKING:
    from mockbroker.apis.auth_helper import AuthHelper
    from mockbroker.apis.context import RequestContext, Services
    from mockbroker_protocol.messages.group_membership import SyncGroupRequest


def handle(
    services: Services, ctx: RequestContext, request: SyncGroupRequest
) -> SyncGroupResponse | Verdict:
    """Answer through `ctx.respond`, at once or later."""
    names_protocol = request.protocol_type is not None and request.protocol_name is not None
    if ctx.api_version >= SYNC_GROUP_PROTOCOL and not names_protocol:
        # SyncGroupRequest.areMandatoryProtocolTypeAndNamePresent
        return SyncGroupResponse(
            throttle_time_ms=ctx.throttle_time_ms, error_code=ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        )

    def respond(response: SyncGroupResponse) -> None:
        response.throttle_time_ms = ctx.throttle_time_ms
        ctx.respond(response)

    services.groups.service.sync(request, respond)
    return PARKED


def guard(auth: AuthHelper, request: SyncGroupRequest) -> object | None:
    """READ on the group; a protocol that is not named (v5+) is an error that comes first."""
    if auth.version >= SYNC_GROUP_PROTOCOL and (
        request.protocol_type is None or request.protocol_name is None
    ):
        return None
    return auth.require_group(AclOperation.READ, request.group_id)
