"""DescribeLogDirs: the node's log directories and the replicas in each (KIP-113).

Versions: v3 error of the whole; v4 room on the disk (KIP-827), -1 here, since nothing is on one;
v5 cordoned directories (KIP-1066). null asks for all topics; no topics ask for none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.apis.auth_helper import cluster_guard
from mockbroker.apis.context import MADE_AT_ONCE
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker_protocol.messages.log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

    from mockbroker.apis.auth_helper import AuthHelper
    from mockbroker.apis.context import RequestContext, Services
    from mockbroker.replica.partition import Partition


def _leave_out(refused: DescribeLogDirsResponse, _: AuthHelper) -> None:
    """Before v3 there is no error either."""
    refused.results = []


guard = cluster_guard(AclOperation.DESCRIBE, _leave_out)


def handle(services: Services, ctx: RequestContext, request: DescribeLogDirsRequest) -> object:
    return services.answer_in_slices(ctx, _answer(services, ctx, request))


def _answer(
    services: Services, ctx: RequestContext, request: DescribeLogDirsRequest
) -> Generator[None, None, DescribeLogDirsResponse]:
    wanted = None
    if request.topics is not None:
        wanted = {(topic.topic, index) for topic in request.topics for index in topic.partitions}
    log_dirs = services.replicas.log_dirs
    results = []
    for path, found in log_dirs.contents().items():
        topics = yield from _topics(found, wanted)
        cordoned = log_dirs.is_cordoned(path)
        results.append(DescribeLogDirsResult(0, path, topics, -1, -1, cordoned))
    return DescribeLogDirsResponse(ctx.throttle_time_ms, 0, results)


def _topics(
    found: Iterable[Partition], wanted: set[tuple[str, int]] | None
) -> Generator[None, None, list[DescribeLogDirsTopic]]:
    topics: dict[str, DescribeLogDirsTopic] = {}
    for number, partition in enumerate(found, 1):
        if not number % MADE_AT_ONCE:
            yield
        if wanted is None or (partition.topic, partition.index) in wanted:
            log = partition.log
            described = DescribeLogDirsPartition(
                partition.index, 0 if log is None else log.size_bytes
            )
            topic = topics.setdefault(partition.topic, DescribeLogDirsTopic(partition.topic))
            topic.partitions.append(described)
    return list(topics.values())
