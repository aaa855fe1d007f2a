"""OffsetCommit (8), v2–v10: store a group's positions.

v2–v4 RetentionTimeMs · v3 throttle time · v6 CommittedLeaderEpoch (KIP-320) · v7 GroupInstanceId ·
v8 flexible · v9 GROUP_ID_NOT_FOUND instead of ILLEGAL_GENERATION · v10 topic ids (KIP-848).

A request with no partition that exists never reaches the group.
Rules: `coordinator.group.offsets`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.apis.committed_topics import merge_topics, split_topics
from mockbroker.apis.context import MADE_AT_ONCE, PARKED, Verdict, in_slices
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker_protocol.messages.group_offsets import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from mockbroker_protocol.versions import OFFSET_COMMIT_TOPIC_IDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mockbroker.apis.auth_helper import AuthHelper
    from mockbroker.apis.context import RequestContext, Services
    from mockbroker.coordinator.group.offsets import CommitWriter
    from mockbroker_protocol.errors import ErrorCode
    from mockbroker_protocol.messages.group_offsets import (
        OffsetCommitRequest,
        OffsetCommitRequestTopic,
    )


def handle(
    services: Services,
    ctx: RequestContext,
    request: OffsetCommitRequest,
    writer: CommitWriter | None = None,
) -> OffsetCommitResponse | Verdict:
    """Answer through `ctx.respond`, at once or when the positions are written."""
    by_id = ctx.api_version >= OFFSET_COMMIT_TOPIC_IDS
    known, refused = split_topics(services.metadata, request.topics, _answer, by_id=by_id)
    if not known:
        return OffsetCommitResponse(throttle_time_ms=ctx.throttle_time_ms, topics=refused)
    request.topics = known

    def respond(response: OffsetCommitResponse) -> None:
        response.throttle_time_ms = ctx.throttle_time_ms
        response.topics = merge_topics(refused, response.topics)
        ctx.respond(response)

    offsets = services.groups.service.offsets
    if writer is not None or sum(len(one.partitions) for one in known) <= MADE_AT_ONCE:
        offsets.commit(request, ctx.api_version, respond, writer)
        return PARKED

    def steps() -> Iterator[None]:
        records = yield from in_slices(offsets.records_of(request))
        offsets.commit(request, ctx.api_version, respond, records=records)

    services.work_in_slices(ctx, steps())
    return PARKED


def _answer(
    topic: OffsetCommitRequestTopic, indexes: list[int], error: ErrorCode
) -> OffsetCommitResponseTopic:
    return OffsetCommitResponseTopic(
        topic.name,
        topic.topic_id,
        [OffsetCommitResponsePartition(index, error) for index in indexes],
    )


def guard(auth: AuthHelper, request: OffsetCommitRequest) -> object | None:
    """READ on the group, and on each topic."""
    refused = auth.require_group(AclOperation.READ, request.group_id)
    return auth.filter_topics(AclOperation.READ) if refused is None else refused
