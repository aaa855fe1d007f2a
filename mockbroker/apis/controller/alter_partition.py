"""AlterPartition (key 56), v2–v3: a leader outside this process proposes another in-sync set.

v3 names each broker with its epoch (KIP-903): one that is stale is not eligible.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.apis.auth_helper import cluster_guard
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.controller_apis import (
    AlterPartitionResponse,
    AlterPartitionResponsePartitionData,
    AlterPartitionResponseTopicData,
)
from mockbroker_protocol.versions import ALTER_PARTITION_EPOCHS

if TYPE_CHECKING:
    from mockbroker.apis.context import RequestContext, Services
    from mockbroker_protocol.messages.controller_apis import (
        AlterPartitionRequest,
        AlterPartitionRequestPartitionData,
    )

guard = cluster_guard(AclOperation.CLUSTER_ACTION)


def handle(
    services: Services, ctx: RequestContext, request: AlterPartitionRequest
) -> AlterPartitionResponse:
    quorum = services.quorum
    assert quorum is not None
    error = quorum.remote_brokers.check_epoch(request.broker_id, request.broker_epoch)
    if error is not ErrorCode.NONE:
        return AlterPartitionResponse(ctx.throttle_time_ms, error)
    topics = [
        AlterPartitionResponseTopicData(
            topic.topic_id,
            [
                _alter(services, request.broker_id, topic.topic_id, asked, ctx.api_version)
                for asked in topic.partitions
            ],
        )
        for topic in request.topics
    ]
    return AlterPartitionResponse(ctx.throttle_time_ms, error, topics)


def _alter(
    services: Services,
    broker_id: int,
    topic_id: bytes,
    asked: AlterPartitionRequestPartitionData,
    version: int,
) -> AlterPartitionResponsePartitionData:
    index = asked.partition_index
    isr, broker_epochs = asked.new_isr, list[int]()
    if version >= ALTER_PARTITION_EPOCHS:
        isr = [broker.broker_id for broker in asked.new_isr_with_epochs]
        broker_epochs = [broker.broker_epoch for broker in asked.new_isr_with_epochs]
    error = services.controller.replication.alter_partition(
        broker_id, topic_id, index, asked.leader_epoch, asked.partition_epoch, isr, broker_epochs
    )
    if error is not ErrorCode.NONE:
        return AlterPartitionResponsePartitionData(index, error)
    state = services.metadata.topics_by_id[topic_id].partitions[index]
    return AlterPartitionResponsePartitionData(
        index, error, state.leader, state.leader_epoch, list(state.isr), 0, state.partition_epoch
    )
