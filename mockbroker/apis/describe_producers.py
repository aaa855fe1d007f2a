"""DescribeProducers (61), v0: what the leaders' logs know of their producers (KIP-664).

An invalid name is 17, an unknown topic or partition 3, a partition that is led elsewhere 6.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.apis.auth_helper import told, topics_guard
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker.metadata.names import invalid_topic_name
from mockbroker.replica.manager import NO_LEADER_EPOCH
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.transaction_admin import (
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)

if TYPE_CHECKING:
    from mockbroker.apis.context import RequestContext, Services
    from mockbroker.replica.partition import Partition
    from mockbroker_protocol.messages.transaction_admin import DescribeProducersRequest

guard = topics_guard(AclOperation.READ, told("Topic authorization failed."))
_UNKNOWN_TOPIC = "This server does not host this topic-partition."


def handle(
    services: Services, ctx: RequestContext, request: DescribeProducersRequest
) -> DescribeProducersResponse:
    """One entry a partition, in the order of the request."""
    topics = []
    for topic in request.topics:
        error, message = _check_topic(services, topic.name)
        topics.append(
            TopicResponse(
                topic.name,
                [
                    PartitionResponse(index, error, message)
                    if error
                    else _describe(services, topic.name, index)
                    for index in topic.partition_indexes
                ],
            )
        )
    return DescribeProducersResponse(ctx.throttle_time_ms, topics)


def _check_topic(services: Services, name: str) -> tuple[ErrorCode, str | None]:
    message = invalid_topic_name(name)
    if message is not None:
        return ErrorCode.INVALID_TOPIC_EXCEPTION, message
    if name not in services.metadata.topics:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, _UNKNOWN_TOPIC
    return ErrorCode.NONE, None


def _describe(services: Services, name: str, index: int) -> PartitionResponse:
    partition = services.replicas.readable_partition(
        name, index, NO_LEADER_EPOCH, only_leader=False
    )
    if isinstance(partition, ErrorCode):
        return PartitionResponse(index, partition)
    return PartitionResponse(index, ErrorCode.NONE, None, _producers(partition))


def _producers(partition: Partition) -> list[ProducerState]:
    # UnifiedLog.activeProducers
    producers = None if partition.log is None else partition.log.producers
    if producers is None:
        return []
    return [
        ProducerState(
            producer_id,
            entry.producer_epoch,
            entry.last_sequence,
            entry.last_timestamp,
            entry.coordinator_epoch,
            entry.current_txn_first_offset,
        )
        for producer_id, entry in producers.producers.items()
    ]
