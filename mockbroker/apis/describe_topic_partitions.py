"""DescribeTopicPartitions: topics by name, page by page (KIP-966).

Topics come in the order of their names; a page ends after a number of partitions, with a cursor
where the next one begins. Lists that are empty are empty, never null: the Java admin reads null as
a broker that knows no eligible leader replicas (Kafka: DescribeTopicPartitionsRequestHandler).
"""

from __future__ import annotations

from heapq import nsmallest
from typing import TYPE_CHECKING, Final

from mockbroker.metadata.acls import ResourceType
from mockbroker.metadata.authorized_operations import TOPIC_OPERATIONS, AclOperation
from mockbroker.metadata.names import NO_TOPIC_ID, invalid_topic_name, is_internal
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.metadata import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
    PageCursor,
    TopicRequest,
)

if TYPE_CHECKING:
    from mockbroker.apis.auth_helper import AuthHelper
    from mockbroker.apis.context import RequestContext, Services
    from mockbroker.config.broker import BrokerConfig
    from mockbroker.metadata.store import Topic


_NO_LEADER: Final = -1


def handle(
    services: Services, ctx: RequestContext, request: DescribeTopicPartitionsRequest
) -> DescribeTopicPartitionsResponse:
    names = {topic.name for topic in request.topics}
    error = _refuse(request, names)
    if error:
        # The error is told of each topic asked for; of all topics, none is told.
        return DescribeTopicPartitionsResponse(
            throttle_time_ms=ctx.throttle_time_ms,
            topics=[
                DescribeTopicPartitionsResponseTopic(error, topic.name) for topic in request.topics
            ],
        )
    response = DescribeTopicPartitionsResponse(throttle_time_ms=ctx.throttle_time_ms)
    cursor = request.cursor
    first, first_index = ("", 0) if cursor is None else (cursor.topic_name, cursor.partition_index)
    limit = services.config.int("max.request.partition.size.limit")
    remaining = max(min(limit, request.response_partition_limit), 1)
    # A topic that there is has a partition or more: no page comes to more of them.
    candidates = (name for name in names or services.metadata.topics if name >= first)
    for name in sorted(candidates) if names else nsmallest(remaining + 2, candidates):
        if not remaining:
            response.next_cursor = PageCursor(name, 0)
            break
        topic = services.metadata.topics.get(name)
        if topic is None:
            response.topics.append(_missing(name, services.config))
            continue
        start = first_index if name == first else 0
        end = min(len(topic.partitions), start + remaining)
        response.topics.append(_described(services, topic, range(start, end)))
        if end < len(topic.partitions):
            response.next_cursor = PageCursor(name, end)
            break
        remaining -= max(end - start, 0)
    return response


def _refuse(request: DescribeTopicPartitionsRequest, names: set[str]) -> ErrorCode:
    cursor = request.cursor
    if cursor is not None:
        unlisted = bool(names) and cursor.topic_name not in names
        if unlisted or cursor.partition_index < 0:
            return ErrorCode.INVALID_REQUEST
    if "" in names and (cursor is None or not cursor.topic_name):
        # Kafka: no resource of an authorizer has an empty name, and its exception is not caught.
        return ErrorCode.UNKNOWN_SERVER_ERROR
    return ErrorCode.NONE


def _missing(name: str, config: BrokerConfig) -> DescribeTopicPartitionsResponseTopic:
    invalid = invalid_topic_name(name)
    return DescribeTopicPartitionsResponseTopic(
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if invalid is None
        else ErrorCode.INVALID_TOPIC_EXCEPTION,
        name,
        NO_TOPIC_ID,
        is_internal(name, config),
        [],
        TOPIC_OPERATIONS,
    )


def _described(
    services: Services, topic: Topic, indexes: range
) -> DescribeTopicPartitionsResponseTopic:
    alive = {broker.node_id for broker in services.metadata.alive_brokers()}
    return DescribeTopicPartitionsResponseTopic(
        0,
        topic.name,
        topic.id,
        topic.internal,
        [_partition(topic, index, alive) for index in indexes],
        TOPIC_OPERATIONS,
    )


def _partition(
    topic: Topic, index: int, alive: set[int]
) -> DescribeTopicPartitionsResponsePartition:
    # A partition without a leader has no error here, unlike in Metadata.
    state = topic.partitions[index]
    return DescribeTopicPartitionsResponsePartition(
        0,
        index,
        state.leader if state.leader in alive else _NO_LEADER,
        state.leader_epoch,
        state.replicas,
        state.isr,
        [],
        [],
        [node for node in state.replicas if node not in alive],
    )


def guard(auth: AuthHelper, request: DescribeTopicPartitionsRequest) -> object | None:
    """As Metadata, by pages: hidden topics take no room on a page."""
    describe = AclOperation.DESCRIBE
    unauthorized: list[object] = []
    if request.topics:
        start = request.cursor.topic_name if request.cursor is not None else ""
        names = sorted({topic.name for topic in request.topics if topic.name})
        denied = {name for name in names if not auth.authorize_topic(describe, name)}
        unauthorized = [
            DescribeTopicPartitionsResponseTopic(ErrorCode.TOPIC_AUTHORIZATION_FAILED, name)
            for name in denied
            if name >= start
        ]
        request.topics = [topic for topic in request.topics if topic.name not in denied]
    else:
        cursor = request.cursor
        if cursor is not None and cursor.partition_index < 0:
            return None  # it is refused, and no topic was asked for that could be named
        start = "" if cursor is None else cursor.topic_name
        names = [
            name
            for name in auth.services.metadata.topics
            if name >= start and auth.authorize_topic(describe, name)
        ]
        if start not in names:
            request.cursor = None  # of all topics it need not be one that there is
        request.topics = [TopicRequest(name) for name in names]
    if not request.topics:
        # No topic named would mean all of them.
        response = DescribeTopicPartitionsResponse(auth.ctx.throttle_time_ms)
        response.topics.extend(unauthorized)  # type: ignore[arg-type]  # as made above
        return response

    def amend(response: DescribeTopicPartitionsResponse) -> None:
        for topic in response.topics:
            if topic.name:
                topic.topic_authorized_operations = auth.authorized_operations(
                    ResourceType.TOPIC, topic.name
                )

    auth.amend(amend)
    auth.append("topics", unauthorized)
    return None
