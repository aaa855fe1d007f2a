"""AlterReplicaLogDirs: move replicas into another of the node's log directories (KIP-113).

A replica is where it was sent with the answer: nothing is copied. One that does not exist yet is
answered 3, and put there when it comes to be (Kafka: ReplicaManager.alterReplicaLogDirs).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.apis.auth_helper import cluster_guard
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)

if TYPE_CHECKING:
    from mockbroker.apis.context import RequestContext, Services

guard = cluster_guard(AclOperation.ALTER)


def handle(
    services: Services, ctx: RequestContext, request: AlterReplicaLogDirsRequest
) -> AlterReplicaLogDirsResponse:
    # A replica sent to two directories goes to the last, as in Kafka's map.
    wanted = {
        (topic.name, index): each.path
        for each in request.dirs
        for topic in each.topics
        for index in topic.partitions
    }
    results: dict[str, AlterReplicaLogDirTopicResult] = {}
    for (name, index), path in wanted.items():
        error = _move(services, name, index, path)
        topic = results.setdefault(name, AlterReplicaLogDirTopicResult(name))
        topic.partitions.append(AlterReplicaLogDirPartitionResult(index, error))
    return AlterReplicaLogDirsResponse(ctx.throttle_time_ms, list(results.values()))


def _move(services: Services, topic: str, index: int, path: str) -> ErrorCode:
    log_dirs = services.replicas.log_dirs
    if path not in log_dirs.paths:
        return ErrorCode.LOG_DIR_NOT_FOUND
    log_dirs.move(topic, index, path)
    if services.replicas.partition(topic, index) is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return ErrorCode.NONE
