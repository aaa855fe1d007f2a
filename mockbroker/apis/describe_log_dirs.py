"""DescribeLogDirs: the node's log directories and the replicas in each (KIP-113).

Versions: v3 error of the whole; v4 room on the disk (KIP-827), -1 here, since nothing is on one;
v5 cordoned directories (KIP-1066). null asks for all topics; no topics ask for none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.apis.auth_helper import cluster_guard
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker_protocol.messages.log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mockbroker.apis.context import RequestContext, Services
    from mockbroker.replica.partition import Partition

guard = cluster_guard(AclOperation.DESCRIBE)


def handle(
    services: Services, ctx: RequestContext, request: DescribeLogDirsRequest
) -> DescribeLogDirsResponse:
    wanted = None
    if request.topics is not None:
        wanted = {(topic.topic, index) for topic in request.topics for index in topic.partitions}
    log_dirs = services.replicas.log_dirs
    results = [
        DescribeLogDirsResult(0, path, _topics(found, wanted), -1, -1, log_dirs.is_cordoned(path))
        for path, found in log_dirs.contents().items()
    ]
    return DescribeLogDirsResponse(ctx.throttle_time_ms, 0, results)


def _topics(
    found: Iterable[Partition], wanted: set[tuple[str, int]] | None
) -> list[DescribeLogDirsTopic]:
    topics: dict[str, DescribeLogDirsTopic] = {}
    for partition in found:
        if wanted is None or (partition.topic, partition.index) in wanted:
            log = partition.log
            described = DescribeLogDirsPartition(
                partition.index, 0 if log is None else log.size_bytes
            )
            topic = topics.setdefault(partition.topic, DescribeLogDirsTopic(partition.topic))
            topic.partitions.append(described)
    return list(topics.values())
