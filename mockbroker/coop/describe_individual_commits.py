"""DescribeIndividualCommits (19700), v0: what a group has committed, and what is handed out.

As of what is replicated, as `group.sharing()` tells it; by the group's coordinator. Partitions that
are asked for by name are answered also where the group shares nothing of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.coop import tags
from mockbroker.coop.extension import extension_of
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.cooperation import (
    DescribeIndividualCommitsResponse,
    DescribeIndividualCommitsResponseLease,
    DescribeIndividualCommitsResponsePartition,
    DescribeIndividualCommitsResponseTopic,
)

if TYPE_CHECKING:
    from collections.abc import Generator

    from mockbroker.apis.auth_helper import AuthHelper
    from mockbroker.apis.context import RequestContext, Services
    from mockbroker.coordinator.group.shared import Sharing
    from mockbroker_protocol.messages.cooperation import DescribeIndividualCommitsRequest


def handle(
    services: Services, ctx: RequestContext, request: DescribeIndividualCommitsRequest
) -> object:
    """Each partition in a slice of its own: one may have 60,000 ranges."""
    return services.answer_in_slices(ctx, _answer(services, ctx, request))


def _answer(
    services: Services, ctx: RequestContext, request: DescribeIndividualCommitsRequest
) -> Generator[None, None, DescribeIndividualCommitsResponse]:
    response = DescribeIndividualCommitsResponse(throttle_time_ms=ctx.throttle_time_ms)
    runtime, extension = services.groups.service.runtime, extension_of(services)
    if runtime.committed_for(request.group_id) is None:
        response.error_code = runtime.missing_error(request.group_id)
        return response
    if extension.has_commits and not extension.commits.is_here(request.group_id):
        response.error_code = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        return response
    asked = None
    if request.topics is not None:
        asked = [(topic.name, one) for topic in request.topics for one in topic.partition_indexes]
    topics: dict[str, DescribeIndividualCommitsResponseTopic] = {}
    for (name, index), sharing in extension.told(request.group_id, asked):
        topic = topics.setdefault(name, DescribeIndividualCommitsResponseTopic(name))
        known = services.metadata.topics.get(name)
        if known is not None and index in range(len(known.partitions)):
            topic.partitions.append(_partition(index, sharing))
        else:
            topic.partitions.append(
                DescribeIndividualCommitsResponsePartition(
                    index, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                )
            )
        yield
    response.topics.extend(topics.values())
    return response


def _partition(index: int, sharing: Sharing) -> DescribeIndividualCommitsResponsePartition:
    stable = -1 if sharing.stable is None else sharing.stable
    return DescribeIndividualCommitsResponsePartition(
        partition_index=index,
        stable_offset=stable,
        max_committed_offset=sharing.ranges[-1][1] if sharing.ranges else max(stable - 1, -1),
        committed_ranges=tags.pack_ranges(sharing.ranges),
        pending_ranges=tags.pack_ranges(sharing.pending),
        marker=-1 if sharing.marker is None else sharing.marker,
        leases=[
            DescribeIndividualCommitsResponseLease(
                first_offset=one.first,
                last_offset=one.last,
                member_id=one.member_id,
                delivery_count=one.deliveries,
                left_ms=int(one.left_ms),
            )
            for one in sharing.leases
        ],
    )


def guard(auth: AuthHelper, request: DescribeIndividualCommitsRequest) -> object | None:
    """DESCRIBE on the group, and on each topic: those that are not named are hidden."""
    describe = AclOperation.DESCRIBE
    refused = auth.require_group(describe, request.group_id)
    if refused is not None:
        return refused
    if request.topics is not None:
        return auth.filter_topics(describe)

    def hide(response: DescribeIndividualCommitsResponse) -> None:
        response.topics = [
            one for one in response.topics if auth.authorize_topic(describe, one.name)
        ]

    auth.amend(hide)
    return None
