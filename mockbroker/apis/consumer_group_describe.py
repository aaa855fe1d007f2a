"""ConsumerGroupDescribe (69), v0–v1: groups of the consumer protocol with their members (KIP-848).

v1 MemberType: which members speak the classic protocol.

A group of another kind, or none, is GROUP_ID_NOT_FOUND with a message.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.metadata.acls import ResourceType
from mockbroker.metadata.authorized_operations import GROUP_OPERATIONS, AclOperation
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.group_admin import (
    ConsumerGroupDescribedGroup,
    ConsumerGroupDescribeResponse,
)

if TYPE_CHECKING:
    from mockbroker.apis.auth_helper import AuthHelper
    from mockbroker.apis.context import RequestContext, Services
    from mockbroker_protocol.messages.group_admin import ConsumerGroupDescribeRequest


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


_HIDDEN_TOPICS = "The group has described topic(s) that the client is not authorized to describe."


def guard(auth: AuthHelper, request: ConsumerGroupDescribeRequest) -> None:
    """DESCRIBE on the group and on each topic that its members have to do with."""
    describe = AclOperation.DESCRIBE
    asked = request.group_ids
    request.group_ids = [name for name in asked if auth.authorize_group(describe, name)]
    known = set(request.group_ids)

    def amend(response: ConsumerGroupDescribeResponse) -> None:
        for index, group in enumerate(response.groups):
            if not all(auth.authorize_topic(describe, name) for name in _topics_of(group)):
                response.groups[index] = ConsumerGroupDescribedGroup(
                    ErrorCode.TOPIC_AUTHORIZATION_FAILED, _HIDDEN_TOPICS, group.group_id
                )
            elif request.include_authorized_operations and not group.error_code:
                group.authorized_operations = auth.authorized_operations(
                    ResourceType.GROUP, group.group_id
                )
        response.groups += [
            ConsumerGroupDescribedGroup(ErrorCode.GROUP_AUTHORIZATION_FAILED, None, name)
            for name in asked
            if name not in known
        ]

    auth.amend(amend)


def _topics_of(group: ConsumerGroupDescribedGroup) -> set[str]:
    return {
        topic.topic_name
        for each in group.members
        for assignment in (each.assignment, each.target_assignment)
        for topic in assignment.topic_partitions
    } | {name for each in group.members for name in each.subscribed_topic_names}
