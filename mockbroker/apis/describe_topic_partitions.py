"""DescribeTopicPartitions: topics by name, page by page (KIP-966).

Topics come in the order of their names; a page ends after a number of partitions, with a cursor
where the next one begins. Lists that are empty are empty, never null: the Java admin reads null as
a broker that knows no eligible leader replicas (Kafka: DescribeTopicPartitionsRequestHandler).
"""

from __future__ import annotations

from heapq import nsmallest
from itertools import islice
from typing import TYPE_CHECKING, Final

from mockbroker.apis.context import MADE_AT_ONCE, in_slices
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
)

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from mockbroker.apis.auth_helper import AuthHelper
    from mockbroker.apis.context import RequestContext, Services
    from mockbroker.config.broker import BrokerConfig
    from mockbroker.metadata.store import Topic


_NO_LEADER: Final = -1


def handle(
    services: Services, ctx: RequestContext, request: DescribeTopicPartitionsRequest
) -> object:
    return services.answer_in_slices(ctx, _answer(services, ctx, request))


def _answer(
    services: Services, ctx: RequestContext, request: DescribeTopicPartitionsRequest
) -> Generator[None, None, DescribeTopicPartitionsResponse]:
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
    cursor = request.cursor
    first = "" if cursor is None else cursor.topic_name
    # A topic that there is has a partition or more: no page comes to more of them.
    candidates = (name for name in names or services.metadata.topics if name >= first)
    page = sorted(candidates) if names else nsmallest(_size(services, request) + 2, candidates)
    return (yield from _page(services, ctx, request, page))


def _page(
    services: Services,
    ctx: RequestContext,
    request: DescribeTopicPartitionsRequest,
    names: Sequence[str],
) -> Generator[None, None, DescribeTopicPartitionsResponse]:
    response = DescribeTopicPartitionsResponse(throttle_time_ms=ctx.throttle_time_ms)
    cursor = request.cursor
    remaining = _size(services, request)
    alive = {broker.node_id for broker in services.metadata.alive_brokers()}
    for done, name in enumerate(names, 1):
        if not remaining:
            response.next_cursor = PageCursor(name, 0)
            break
        topic = services.metadata.topics.get(name)
        if topic is None:
            if request.topics:  # of all topics, one that is gone meanwhile is not told
                response.topics.append(_missing(name, services.config))
        else:
            begins_page = cursor is not None and name == cursor.topic_name
            start = cursor.partition_index if cursor is not None and begins_page else 0
            end = min(len(topic.partitions), start + remaining)
            response.topics.append(_described(topic, range(start, end), alive))
            if end < len(topic.partitions):
                response.next_cursor = PageCursor(name, end)
                break
            remaining -= max(end - start, 0)
        if not done % MADE_AT_ONCE:
            yield
    return response


def _size(services: Services, request: DescribeTopicPartitionsRequest) -> int:
    """How many partitions a page has at most."""
    limit = services.config.int("max.request.partition.size.limit")
    return max(min(limit, request.response_partition_limit), 1)


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
    topic: Topic, indexes: range, alive: set[int]
) -> DescribeTopicPartitionsResponseTopic:
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


def guard(auth: AuthHelper, request: DescribeTopicPartitionsRequest) -> object:
    """As Metadata, by pages: hidden topics take no room on a page. What it answers is all."""
    making = (_of_named if request.topics else _of_all)(auth, request)
    return auth.services.answer_in_slices(auth.ctx, making)


def _of_named(
    auth: AuthHelper, request: DescribeTopicPartitionsRequest
) -> Generator[None, None, DescribeTopicPartitionsResponse]:
    asked = {topic.name for topic in request.topics}
    if _refuse(request, asked):
        return (yield from _answer(auth.services, auth.ctx, request))
    start = request.cursor.topic_name if request.cursor is not None else ""
    names = sorted(name for name in asked if name and name >= start)
    denied = yield from in_slices(name for name in names if not _may_describe(auth, name))
    auth.tell_audit()
    hidden = set(denied)
    visible = [name for name in names if name not in hidden]
    response = yield from _page(auth.services, auth.ctx, request, visible)
    yield from _tell_operations(auth, response)
    response.topics += [
        DescribeTopicPartitionsResponseTopic(ErrorCode.TOPIC_AUTHORIZATION_FAILED, name)
        for name in denied
    ]
    return response


def _of_all(
    auth: AuthHelper, request: DescribeTopicPartitionsRequest
) -> Generator[None, None, DescribeTopicPartitionsResponse]:
    services, ctx, cursor = auth.services, auth.ctx, request.cursor
    if cursor is not None and cursor.partition_index < 0:
        return DescribeTopicPartitionsResponse(ctx.throttle_time_ms)
    start = "" if cursor is None else cursor.topic_name
    names = sorted(name for name in services.metadata.topics if name >= start)
    visible = (name for name in names if _may_describe(auth, name))
    # As many as a page can come to, as above.
    page = yield from in_slices(islice(visible, _size(services, request) + 2))
    auth.tell_audit()
    response = yield from _page(services, ctx, request, page)
    yield from _tell_operations(auth, response)
    return response


def _may_describe(auth: AuthHelper, name: str) -> bool:
    return auth.authorize_topic(AclOperation.DESCRIBE, name)


def _tell_operations(
    auth: AuthHelper, response: DescribeTopicPartitionsResponse
) -> Generator[None, None, None]:
    for done, topic in enumerate(response.topics, 1):
        if topic.name:
            topic.topic_authorized_operations = auth.authorized_operations(
                ResourceType.TOPIC, topic.name
            )
        if not done % MADE_AT_ONCE:
            yield
