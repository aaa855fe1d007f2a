"""CreatePartitions: topics grow to a number of partitions (KIP-195).

All versions served behave alike. Divergence: Apache Kafka answers in the order of a hash map;
here duplicates come first, then the order is that of the request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.apis.auth_helper import topics_guard
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker.metadata.topic_requests import NewPartitions
from mockbroker_protocol.messages.topics import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
)

if TYPE_CHECKING:
    from mockbroker.apis.context import RequestContext, Services
    from mockbroker_protocol.messages.topics import CreatePartitionsTopic

guard = topics_guard(AclOperation.ALTER)


def handle(
    services: Services, ctx: RequestContext, request: CreatePartitionsRequest
) -> CreatePartitionsResponse:
    answers = services.controller.create_partitions(
        [_asked(topic) for topic in request.topics], validate_only=request.validate_only
    )
    return CreatePartitionsResponse(
        throttle_time_ms=ctx.throttle_time_ms,
        results=[
            CreatePartitionsTopicResult(name, refusal.error, refusal.message)
            for name, refusal in answers
        ],
    )


def _asked(topic: CreatePartitionsTopic) -> NewPartitions:
    if topic.assignments is None:
        return NewPartitions(topic.name, topic.count)
    assignments = [assignment.broker_ids for assignment in topic.assignments]
    return NewPartitions(topic.name, topic.count, assignments)
