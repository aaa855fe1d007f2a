"""DescribeGroups (15), v0–v6: classic groups with their members.

v1 throttle time · v3 authorized operations (KIP-430) · v4 GroupInstanceId · v5 flexible · v6 an
unknown group is GROUP_ID_NOT_FOUND, with a message; before it is Dead and no error (KIP-1043).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.metadata.authorized_operations import GROUP_OPERATIONS
from mockbroker_protocol.api_keys import ApiKey
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.group_admin import DescribeGroupsResponse

if TYPE_CHECKING:
    from mockbroker.apis.context import RequestContext, Services
    from mockbroker_protocol.messages.group_admin import DescribeGroupsRequest

KEY = ApiKey.DESCRIBE_GROUPS


def handle(
    services: Services, ctx: RequestContext, request: DescribeGroupsRequest
) -> DescribeGroupsResponse:
    """One entry a group asked for."""
    service = services.groups.service
    groups = [service.describe_group(group_id, ctx.api_version) for group_id in request.groups]
    if request.include_authorized_operations:
        for group in groups:
            if group.error_code == ErrorCode.NONE:
                group.authorized_operations = GROUP_OPERATIONS
    return DescribeGroupsResponse(throttle_time_ms=ctx.throttle_time_ms, groups=groups)
