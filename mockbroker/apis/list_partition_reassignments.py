"""ListPartitionReassignments (46), v0: which partitions are on their way elsewhere (KIP-455).

Null topics ask for all. A partition that is not being reassigned is left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker.metadata.topic_requests import Refusal
from mockbroker_protocol.messages.reassignments import (
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)

if TYPE_CHECKING:
    from mockbroker.apis.auth_helper import AuthHelper
    from mockbroker.apis.context import RequestContext, Services
    from mockbroker_protocol.messages.reassignments import ListPartitionReassignmentsRequest


def guard(auth: AuthHelper, request: ListPartitionReassignmentsRequest) -> object | None:
    """DESCRIBE on the cluster; a refusal names the partitions that were asked for."""

    def tell(refused: ListPartitionReassignmentsResponse, _: AuthHelper) -> None:
        refused.error_message = "Request needs DESCRIBE permission."
        refused.topics = [
            OngoingTopicReassignment(
                topic.name,
                [OngoingPartitionReassignment(index) for index in topic.partition_indexes],
            )
            for topic in request.topics or ()
        ]

    return auth.require_cluster(AclOperation.DESCRIBE, tell)


def handle(
    services: Services, ctx: RequestContext, request: ListPartitionReassignmentsRequest
) -> ListPartitionReassignmentsResponse:
    """What the controller has under way."""
    wanted = None
    if request.topics is not None:
        wanted = [(topic.name, topic.partition_indexes) for topic in request.topics]
    found = services.controller.reassignments(wanted)
    response = ListPartitionReassignmentsResponse(
        throttle_time_ms=ctx.throttle_time_ms, error_message=None
    )
    if isinstance(found, Refusal):
        response.error_code = found.error
        response.error_message = found.message
        return response
    topics: dict[str, list[OngoingPartitionReassignment]] = {}
    for name, index, state in found:
        topics.setdefault(name, []).append(
            OngoingPartitionReassignment(
                index, list(state.replicas), list(state.adding), list(state.removing)
            )
        )
    response.topics = [OngoingTopicReassignment(name, found) for name, found in topics.items()]
    return response
