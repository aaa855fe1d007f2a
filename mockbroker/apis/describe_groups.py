"""DescribeGroups (15), v0–v6: classic groups with their members.

v1 throttle time · v3 authorized operations (KIP-430) · v4 GroupInstanceId · v5 flexible · v6 an
unknown group is GROUP_ID_NOT_FOUND, with a message; before it is Dead and no error (KIP-1043).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.metadata.acls import ResourceType
from mockbroker.metadata.authorized_operations import GROUP_OPERATIONS, NOT_ASKED, AclOperation
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.group_admin import DescribedGroup, DescribeGroupsResponse

if TYPE_CHECKING:
    from mockbroker.apis.auth_helper import AuthHelper
    from mockbroker.apis.context import RequestContext, Services
    from mockbroker_protocol.messages.group_admin import DescribeGroupsRequest


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


def guard(auth: AuthHelper, request: DescribeGroupsRequest) -> None:
    """DESCRIBE on each group."""
    asked = request.groups
    request.groups = [name for name in asked if auth.authorize_group(AclOperation.DESCRIBE, name)]
    known = set(request.groups)

    def amend(response: DescribeGroupsResponse) -> None:
        for group in response.groups:
            if group.authorized_operations != NOT_ASKED and not group.error_code:
                group.authorized_operations = auth.authorized_operations(
                    ResourceType.GROUP, group.group_id
                )
        response.groups += [
            DescribedGroup(ErrorCode.GROUP_AUTHORIZATION_FAILED, None, name)
            for name in asked
            if name not in known
        ]

    auth.amend(amend)
