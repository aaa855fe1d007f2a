"""ConsumerGroupDescribe (69), v0–v1: groups of the consumer protocol with their members (KIP-848).

v1 MemberType: which members speak the classic protocol.

A group of another kind, or none, is GROUP_ID_NOT_FOUND with a message.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.metadata.authorized_operations import GROUP_OPERATIONS
from mockbroker_protocol.api_keys import ApiKey
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.group_admin import ConsumerGroupDescribeResponse

if TYPE_CHECKING:
    from mockbroker.apis.context import RequestContext, Services
    from mockbroker_protocol.messages.group_admin import ConsumerGroupDescribeRequest

KEY = ApiKey.CONSUMER_GROUP_DESCRIBE


def handle(
    services: Services, ctx: RequestContext, request: ConsumerGroupDescribeRequest
) -> ConsumerGroupDescribeResponse:
    """One entry a group asked for."""
    service = services.groups.service
    groups = [service.consumers.describe(group_id) for group_id in request.group_ids]
    if request.include_authorized_operations:
        for group in groups:
            if group.error_code == ErrorCode.NONE:
                group.authorized_operations = GROUP_OPERATIONS
    return ConsumerGroupDescribeResponse(throttle_time_ms=ctx.throttle_time_ms, groups=groups)
