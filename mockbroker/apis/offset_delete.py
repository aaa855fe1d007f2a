"""OffsetDelete (47), v0: forget positions in topics that nobody of the group reads (KIP-496).

Partitions that do not exist are answered 3 here; a topic with a subscriber 86 and a group without
the consumers' protocol that has members 68 by `coordinator.group.offsets`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.apis.context import PARKED, Verdict
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.group_offsets import (
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)

if TYPE_CHECKING:
    from mockbroker.apis.auth_helper import AuthHelper
    from mockbroker.apis.context import RequestContext, Services
    from mockbroker_protocol.messages.group_offsets import OffsetDeleteRequest


def handle(services: Services, ctx: RequestContext, request: OffsetDeleteRequest) -> Verdict:
    """Answer through `ctx.respond`, at once or when the tombstones are written."""
    refused: dict[str, OffsetDeleteResponseTopic] = {}
    known: list[OffsetDeleteRequestTopic] = []
    for asked in request.topics:
        topic = services.metadata.topics.get(asked.name)
        indexes = range(0 if topic is None else len(topic.partitions))
        existing = [one for one in asked.partitions if one.partition_index in indexes]
        if len(existing) < len(asked.partitions):
            refused[asked.name] = _refused_topic(asked, indexes)
        if existing:
            known.append(OffsetDeleteRequestTopic(name=asked.name, partitions=existing))
    request.topics = known

    def respond(response: OffsetDeleteResponse) -> None:
        response.throttle_time_ms = ctx.throttle_time_ms
        if not response.error_code:
            response.topics = _merge(refused, response.topics)
        ctx.respond(response)

    services.groups.service.offsets.delete(request, respond)
    return PARKED


def _refused_topic(
    asked: OffsetDeleteRequestTopic, known_indexes: range
) -> OffsetDeleteResponseTopic:
    return OffsetDeleteResponseTopic(
        name=asked.name,
        partitions=[
            OffsetDeleteResponsePartition(
                partition_index=one.partition_index,
                error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            )
            for one in asked.partitions
            if one.partition_index not in known_indexes
        ],
    )


def _merge(
    refused: dict[str, OffsetDeleteResponseTopic], answered: list[OffsetDeleteResponseTopic]
) -> list[OffsetDeleteResponseTopic]:
    merged = dict(refused)
    for topic in answered:
        earlier = merged.setdefault(topic.name, topic)
        if earlier is not topic:
            earlier.partitions.extend(topic.partitions)
    return list(merged.values())


def guard(auth: AuthHelper, request: OffsetDeleteRequest) -> object | None:
    """DELETE on the group, READ on each topic."""
    if not auth.authorize_group(AclOperation.DELETE, request.group_id):
        return auth.refuse(ErrorCode.GROUP_AUTHORIZATION_FAILED, "top")
    return auth.filter_topics(AclOperation.READ)
