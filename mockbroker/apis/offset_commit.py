"""OffsetCommit (8), v2–v10: store a group's positions.

v2–v4 RetentionTimeMs · v3 throttle time · v6 CommittedLeaderEpoch (KIP-320) · v7 GroupInstanceId ·
v8 flexible · v9 GROUP_ID_NOT_FOUND instead of ILLEGAL_GENERATION · v10 topic ids (KIP-848).

Partitions that do not exist are answered here (3; an unknown topic id 100), as KafkaApis does, and
a request with none that exists never reaches the group. Rules: `coordinator.group.offsets`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.apis.context import PARKED, Verdict
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.group_offsets import (
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from mockbroker_protocol.versions import OFFSET_COMMIT_TOPIC_IDS

if TYPE_CHECKING:
    from mockbroker.apis.auth_helper import AuthHelper
    from mockbroker.apis.context import RequestContext, Services
    from mockbroker.metadata.store import Topic
    from mockbroker_protocol.messages.group_offsets import OffsetCommitRequest


def handle(
    services: Services, ctx: RequestContext, request: OffsetCommitRequest
) -> OffsetCommitResponse | Verdict:
    """Answer through `ctx.respond`, at once or when the positions are written."""
    refused: list[OffsetCommitResponseTopic] = []
    known: list[OffsetCommitRequestTopic] = []
    by_id = ctx.api_version >= OFFSET_COMMIT_TOPIC_IDS
    for asked in request.topics:
        if by_id:
            topic = services.metadata.topics_by_id.get(asked.topic_id)
            unknown = ErrorCode.UNKNOWN_TOPIC_ID
        else:
            topic = services.metadata.topics.get(asked.name)
            unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if topic is None:
            _refuse(refused, asked, range(0), unknown)
        else:
            _split(asked, topic, known, refused)
    if not known:
        return OffsetCommitResponse(throttle_time_ms=ctx.throttle_time_ms, topics=refused)
    request.topics = known

    def respond(response: OffsetCommitResponse) -> None:
        response.throttle_time_ms = ctx.throttle_time_ms
        response.topics = _merge(refused, response.topics)
        ctx.respond(response)

    services.groups.service.offsets.commit(request, ctx.api_version, respond)
    return PARKED


def _split(
    asked: OffsetCommitRequestTopic,
    topic: Topic,
    known: list[OffsetCommitRequestTopic],
    refused: list[OffsetCommitResponseTopic],
) -> None:
    indexes = range(len(topic.partitions))
    # Either way the record has both, so that a later topic of that name is told apart.
    asked.name, asked.topic_id = topic.name, topic.id
    if any(partition.partition_index not in indexes for partition in asked.partitions):
        _refuse(refused, asked, indexes, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        asked.partitions = [one for one in asked.partitions if one.partition_index in indexes]
    if asked.partitions:
        known.append(asked)


def _refuse(
    refused: list[OffsetCommitResponseTopic],
    asked: OffsetCommitRequestTopic,
    known_indexes: range,
    error: ErrorCode,
) -> None:
    results = [
        OffsetCommitResponsePartition(partition_index=one.partition_index, error_code=error)
        for one in asked.partitions
        if one.partition_index not in known_indexes
    ]
    refused.append(
        OffsetCommitResponseTopic(name=asked.name, topic_id=asked.topic_id, partitions=results)
    )


def _merge(
    refused: list[OffsetCommitResponseTopic], answered: list[OffsetCommitResponseTopic]
) -> list[OffsetCommitResponseTopic]:
    """One entry a topic, the refused ones first (OffsetCommitResponse.Builder.merge)."""
    merged = {(topic.name, topic.topic_id): topic for topic in refused}
    for topic in answered:
        earlier = merged.get((topic.name, topic.topic_id))
        if earlier is None:
            merged[topic.name, topic.topic_id] = topic
        else:
            earlier.partitions.extend(topic.partitions)
    return list(merged.values())


def guard(auth: AuthHelper, request: OffsetCommitRequest) -> object | None:
    """READ on the group, and on each topic."""
    refused = auth.require_group(AclOperation.READ, request.group_id)
    return auth.filter_topics(AclOperation.READ) if refused is None else refused
