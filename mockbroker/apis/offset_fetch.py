"""OffsetFetch (9), v1–v10: a group's stored positions.

v2 all topics (null), an error of the whole · v3 throttle time · v5 CommittedLeaderEpoch · v6
flexible · v7 RequireStable (KIP-447) · v8 many groups (KIP-709) · v9 MemberId and MemberEpoch
(KIP-848) · v10 topic ids.

What was never committed is offset -1 with an empty text and no error, even for a group that does
not exist. From v10 on an unknown topic id is answered 100, and all topics means those that exist.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.coordinator.group.offsets import FetchedOffset, TopicPartitions
from mockbroker_protocol.api_keys import ApiKey
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.group_offsets import (
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)

if TYPE_CHECKING:
    from mockbroker.apis.context import RequestContext, Services
    from mockbroker_protocol.messages.group_offsets import (
        OffsetFetchRequest,
        OffsetFetchRequestGroup,
        OffsetFetchRequestTopics,
    )

KEY = ApiKey.OFFSET_FETCH
_FIRST_VERSION_WITH_ERROR = 2
_FIRST_VERSION_WITH_GROUPS = 8
_FIRST_VERSION_WITH_TOPIC_IDS = 10


def handle(
    services: Services, ctx: RequestContext, request: OffsetFetchRequest
) -> OffsetFetchResponse:
    """The positions of one group up to v7, of each group from v8 on."""
    if ctx.api_version < _FIRST_VERSION_WITH_GROUPS:
        return _one_group(services, ctx, request)
    by_id = ctx.api_version >= _FIRST_VERSION_WITH_TOPIC_IDS
    return OffsetFetchResponse(
        throttle_time_ms=ctx.throttle_time_ms,
        groups=[
            _fetch_group(services, group, by_id, request.require_stable) for group in request.groups
        ],
    )


def _one_group(
    services: Services, ctx: RequestContext, request: OffsetFetchRequest
) -> OffsetFetchResponse:
    asked = None
    if request.topics is not None:
        asked = [TopicPartitions(one.name, one.partition_indexes) for one in request.topics]
    error, topics = services.groups.service.offsets.fetch(
        request.group_id, asked, require_stable=request.require_stable
    )
    if error is not ErrorCode.NONE and ctx.api_version < _FIRST_VERSION_WITH_ERROR:
        topics = [(topic, _failed(topic, error)) for topic in asked or []]
    return OffsetFetchResponse(
        throttle_time_ms=ctx.throttle_time_ms,
        error_code=error,
        topics=[
            OffsetFetchResponseTopic(
                name=topic.name, partitions=[_partition(one) for one in fetched]
            )
            for topic, fetched in topics
        ],
    )


def _partition(fetched: FetchedOffset) -> OffsetFetchResponsePartition:
    return OffsetFetchResponsePartition(
        partition_index=fetched.partition_index,
        committed_offset=fetched.offset,
        committed_leader_epoch=fetched.leader_epoch,
        metadata=fetched.metadata,
        error_code=fetched.error,
    )


def _fetch_group(
    services: Services, group: OffsetFetchRequestGroup, by_id: bool, require_stable: bool
) -> OffsetFetchResponseGroup:
    unknown: list[OffsetFetchResponseTopics] = []
    asked: list[TopicPartitions] | None = None
    if group.topics is not None:
        asked = []
        for topic in group.topics:
            known = _resolve(services, topic) if by_id else topic.name
            if known is None:
                missing = TopicPartitions("", topic.partition_indexes, topic.topic_id)
                failed = _failed(missing, ErrorCode.UNKNOWN_TOPIC_ID)
                unknown.append(_topic(missing, failed, topic.topic_id))
            else:
                asked.append(TopicPartitions(known, topic.partition_indexes, topic.topic_id))
    error, topics = services.groups.service.offsets.fetch(
        group.group_id,
        asked,
        require_stable=require_stable,
        member_id=group.member_id,
        member_epoch=group.member_epoch,
    )
    if error is not ErrorCode.NONE:
        return OffsetFetchResponseGroup(group_id=group.group_id, error_code=error)
    answered = []
    for topic_partitions, fetched in topics:
        topic_id = topic_partitions.topic_id
        if by_id and asked is None:
            found = services.metadata.topics.get(topic_partitions.name)
            if found is None:
                continue  # without an id there is no way to name it
            topic_id = found.id
        answered.append(_topic(topic_partitions, fetched, topic_id))
    return OffsetFetchResponseGroup(group_id=group.group_id, topics=[*answered, *unknown])


def _resolve(services: Services, topic: OffsetFetchRequestTopics) -> str | None:
    found = services.metadata.topics_by_id.get(topic.topic_id)
    return None if found is None else found.name


def _failed(topic: TopicPartitions, error: ErrorCode) -> list[FetchedOffset]:
    return [FetchedOffset(index, error=error) for index in topic.partition_indexes]


def _topic(
    topic: TopicPartitions, fetched: list[FetchedOffset], topic_id: bytes
) -> OffsetFetchResponseTopics:
    return OffsetFetchResponseTopics(
        name=topic.name,
        topic_id=topic_id,
        partitions=[
            OffsetFetchResponsePartitions(
                partition_index=one.partition_index,
                committed_offset=one.offset,
                committed_leader_epoch=one.leader_epoch,
                metadata=one.metadata,
                error_code=one.error,
            )
            for one in fetched
        ],
    )
