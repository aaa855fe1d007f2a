"""AlterPartitionReassignments (45), v0–v1: put the replicas of partitions elsewhere (KIP-455).

v1 AllowReplicationFactorChange (KIP-860). Null replicas take a reassignment back. A partition is
done when its new replicas are in sync; until then ListPartitionReassignments tells of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.apis.auth_helper import NEEDS_ALTER, cluster_guard, told
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker_protocol.messages.reassignments import (
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)

if TYPE_CHECKING:
    from mockbroker.apis.context import RequestContext, Services
    from mockbroker_protocol.messages.reassignments import (
        AlterPartitionReassignmentsRequest,
        ReassignablePartition,
    )

guard = cluster_guard(AclOperation.ALTER, told(NEEDS_ALTER, lists="responses"))


def handle(
    services: Services, ctx: RequestContext, request: AlterPartitionReassignmentsRequest
) -> AlterPartitionReassignmentsResponse:
    """Each partition has its own outcome."""
    may_change = request.allow_replication_factor_change

    def reassign(topic: str, asked: ReassignablePartition) -> ReassignablePartitionResponse:
        refusal = services.controller.reassign(
            topic, asked.partition_index, asked.replicas, may_change_factor=may_change
        )
        return ReassignablePartitionResponse(asked.partition_index, refusal.error, refusal.message)

    return AlterPartitionReassignmentsResponse(
        throttle_time_ms=ctx.throttle_time_ms,
        allow_replication_factor_change=may_change,
        error_message=None,
        responses=[
            ReassignableTopicResponse(
                topic.name, [reassign(topic.name, asked) for asked in topic.partitions]
            )
            for topic in request.topics
        ],
    )
