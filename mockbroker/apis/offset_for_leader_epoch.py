"""OffsetForLeaderEpoch (key 23), v2–v4: where a leader epoch ended (KIP-101, KIP-320).

v3 replica id; v4 flexible. Only the leader answers. An epoch newer than all known ones, or -1, ends
nowhere: epoch -1, offset -1, no error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.list_offsets import (
    EpochEndOffset,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)

if TYPE_CHECKING:
    from mockbroker.apis.auth_helper import AuthHelper
    from mockbroker.apis.context import RequestContext, Services
    from mockbroker_protocol.messages.list_offsets import (
        OffsetForLeaderEpochRequest,
        OffsetForLeaderPartition,
    )


def handle(
    services: Services, ctx: RequestContext, request: OffsetForLeaderEpochRequest
) -> OffsetForLeaderEpochResponse:
    """Look up each partition."""
    topics = [
        OffsetForLeaderTopicResult(
            topic.topic, [_end_offset(services, topic.topic, asked) for asked in topic.partitions]
        )
        for topic in request.topics
    ]
    return OffsetForLeaderEpochResponse(ctx.throttle_time_ms, topics)


def _end_offset(services: Services, topic: str, asked: OffsetForLeaderPartition) -> EpochEndOffset:
    """Kafka: Partition.lastOffsetForLeaderEpoch."""
    partition = services.replicas.readable_partition(
        topic, asked.partition, asked.current_leader_epoch, only_leader=True
    )
    if isinstance(partition, ErrorCode):
        return EpochEndOffset(partition, asked.partition)
    log = partition.log or partition.open_log()
    epoch, end_offset = log.end_offset_for_epoch(asked.leader_epoch) or (-1, -1)
    return EpochEndOffset(0, asked.partition, epoch, end_offset)


def guard(auth: AuthHelper, _: OffsetForLeaderEpochRequest) -> object | None:
    """CLUSTER_ACTION for followers; others need DESCRIBE on each topic."""
    if auth.authorize_cluster(AclOperation.CLUSTER_ACTION, logs_denial=False):
        return None
    return auth.filter_topics(AclOperation.DESCRIBE)
