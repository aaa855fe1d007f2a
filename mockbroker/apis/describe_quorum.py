"""DescribeQuorum (key 55), v0–v2: who leads the metadata log, who votes, who follows how far.

v1 times of the last fetch; v2 directories, nodes and messages (KIP-853). As in
KafkaRaftClient.handleDescribeQuorumRequest. Without a controller's listener nobody can follow the
metadata log: then the changes of the metadata are its offsets, the first broker that is alive leads
and the others observe, each as far as its own image is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.apis.auth_helper import CLUSTER_DENIED, cluster_guard, told
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker.metadata.names import CLUSTER_METADATA_TOPIC
from mockbroker.quorum.observers import ReplicaProgress
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.quorum import (
    DescribeQuorumResponse,
    DescribeQuorumResponsePartitionData,
    DescribeQuorumResponseTopicData,
    Node,
    ReplicaState,
    VoterListener,
)
from mockbroker_protocol.schema import ZERO_UUID
from mockbroker_protocol.versions import DESCRIBE_QUORUM_DIRECTORIES

if TYPE_CHECKING:
    from mockbroker.apis.context import RequestContext, Services
    from mockbroker.quorum.quorum import MetadataQuorum
    from mockbroker_protocol.messages.quorum import DescribeQuorumRequest

guard = cluster_guard(AclOperation.DESCRIBE, told(CLUSTER_DENIED))
_UNKNOWN: Final = -1
_FIRST_EPOCH: Final = 1
_NOT_HOSTED: Final = "This server does not host this topic-partition."


def handle(
    services: Services, ctx: RequestContext, request: DescribeQuorumRequest
) -> DescribeQuorumResponse:
    asked = [
        (topic.topic_name, [one.partition_index for one in topic.partitions])
        for topic in request.topics
    ]
    if asked != [(CLUSTER_METADATA_TOPIC, [0])]:
        return _unknown(asked)
    version = ctx.api_version
    quorum = services.quorum
    if quorum is None:
        return _answer(_of_images(services), version)
    data = DescribeQuorumResponsePartitionData(
        0,
        ErrorCode.NONE,
        leader_id=quorum.leader_id,
        leader_epoch=quorum.epoch,
        high_watermark=_UNKNOWN if quorum.high_watermark is None else quorum.high_watermark,
        current_voters=[_replica(_leader(quorum), version)],
        observers=[_replica(observer, version) for observer in quorum.observers.current()],
    )
    nodes = [
        Node(
            quorum.leader_id,
            [VoterListener(one.name, one.host, one.port) for one in quorum.listeners],
        )
    ]
    return _answer((data, nodes), version)


def _answer(
    found: tuple[DescribeQuorumResponsePartitionData, list[Node]], version: int
) -> DescribeQuorumResponse:
    data, nodes = found
    response = DescribeQuorumResponse(
        topics=[DescribeQuorumResponseTopicData(CLUSTER_METADATA_TOPIC, [data])]
    )
    if version >= DESCRIBE_QUORUM_DIRECTORIES:
        response.nodes = nodes
    return response


def _of_images(
    services: Services,
) -> tuple[DescribeQuorumResponsePartitionData, list[Node]]:
    """What the quorum would be: the controller's changes, and who has heard of how many."""
    now_ms = services.clock.wall_ms()
    heard = services.metadata_progress()
    end = max(heard.values())
    leader_id = services.controller_id
    replicas = [
        ReplicaState(node_id, ZERO_UUID, version, now_ms, now_ms)
        for node_id, version in sorted(heard.items())
    ]
    replicas[0].log_end_offset = end
    data = DescribeQuorumResponsePartitionData(
        0,
        ErrorCode.NONE,
        leader_id=leader_id,
        leader_epoch=_FIRST_EPOCH,
        high_watermark=end,
        current_voters=replicas[:1],
        observers=replicas[1:],
    )
    return data, [Node(leader_id, [])]


def _leader(quorum: MetadataQuorum) -> ReplicaProgress:
    """The leader has all there is, at this moment."""
    leader = ReplicaProgress(quorum.leader_id, quorum.directory_id)
    leader.log_end_offset = quorum.log.log_end_offset
    leader.last_fetch_ms = leader.last_caught_up_ms = quorum.clock.wall_ms()
    return leader


def _replica(replica: ReplicaProgress, version: int) -> ReplicaState:
    return ReplicaState(
        replica.replica_id,
        replica.directory_id if version >= DESCRIBE_QUORUM_DIRECTORIES else ZERO_UUID,
        replica.log_end_offset,
        replica.last_fetch_ms,
        replica.last_caught_up_ms,
    )


def _unknown(asked: list[tuple[str, list[int]]]) -> DescribeQuorumResponse:
    """Kafka: DescribeQuorumRequest.getPartitionLevelErrorResponse."""
    error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return DescribeQuorumResponse(
        topics=[
            DescribeQuorumResponseTopicData(
                name,
                [
                    DescribeQuorumResponsePartitionData(index, error, error_message=_NOT_HOSTED)
                    for index in indexes
                ],
            )
            for name, indexes in asked
        ]
    )
