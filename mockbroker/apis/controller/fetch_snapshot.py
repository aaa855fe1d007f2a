"""FetchSnapshot (key 59), v0–v1: there are no snapshots, since the log is never cut.

KIP-630. Order of checks as in KafkaRaftClient.handleFetchSnapshotRequest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.apis.auth_helper import cluster_guard
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker.metadata.names import CLUSTER_METADATA_TOPIC
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.raft import (
    FetchSnapshotResponse,
    FetchSnapshotResponseLeaderIdAndEpoch,
    FetchSnapshotResponsePartitionSnapshot,
    FetchSnapshotResponseTopicSnapshot,
    QuorumNodeEndpoint,
)

if TYPE_CHECKING:
    from mockbroker.apis.context import RequestContext, Services
    from mockbroker.quorum.quorum import MetadataQuorum
    from mockbroker_protocol.messages.raft import FetchSnapshotRequest

guard = cluster_guard(AclOperation.CLUSTER_ACTION)


def handle(
    services: Services, ctx: RequestContext, request: FetchSnapshotRequest
) -> FetchSnapshotResponse:
    quorum = services.quorum
    assert quorum is not None
    if request.cluster_id is not None and request.cluster_id != quorum.store.cluster_id:
        return FetchSnapshotResponse(error_code=ErrorCode.INCONSISTENT_CLUSTER_ID)
    if len(request.topics) != 1 or len(request.topics[0].partitions) != 1:
        return FetchSnapshotResponse(error_code=ErrorCode.INVALID_REQUEST)
    (topic,) = request.topics
    (asked,) = topic.partitions
    if (topic.name, asked.partition) != (CLUSTER_METADATA_TOPIC, 0):
        data = FetchSnapshotResponsePartitionSnapshot(
            asked.partition, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        )
    else:
        error = quorum.leader_error(asked.current_leader_epoch)
        if error is ErrorCode.NONE:
            error = ErrorCode.SNAPSHOT_NOT_FOUND
        leader = FetchSnapshotResponseLeaderIdAndEpoch(quorum.named_leader, quorum.epoch)
        data = FetchSnapshotResponsePartitionSnapshot(0, error, current_leader=leader)
    topics = [FetchSnapshotResponseTopicSnapshot(topic.name, [data])]
    return FetchSnapshotResponse(topics=topics, node_endpoints=_endpoints(quorum, ctx.api_version))


def _endpoints(quorum: MetadataQuorum, version: int) -> list[QuorumNodeEndpoint]:
    if version < 1 or not quorum.is_leader:
        return []
    return [QuorumNodeEndpoint(quorum.leader_id, one.host, one.port) for one in quorum.listeners]
