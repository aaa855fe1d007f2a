"""OffsetFetch (9), v1–v10: a group's stored positions.

v2 all topics (null), an error of the whole · v3 throttle time · v5 CommittedLeaderEpoch · v6
flexible · v7 RequireStable (KIP-447) · v8 many groups (KIP-709) · v9 MemberId and MemberEpoch
(KIP-848) · v10 topic ids.

What was never committed is offset -1 with an empty text and no error, even for a group that does
not exist. From v10 on an unknown topic id is answered 100, and all topics means those that exist.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Protocol

from mockbroker.apis.context import PARKED, in_slices
from mockbroker.coordinator.group.offsets import FetchedOffset, TopicPartitions
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.group_offsets import (
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from mockbroker_protocol.slices import all_at_once
from mockbroker_protocol.versions import (
    OFFSET_FETCH_ERROR,
    OFFSET_FETCH_GROUPS,
    OFFSET_FETCH_TOPIC_IDS,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from typing import Any

    from mockbroker.apis.auth_helper import AuthHelper
    from mockbroker.apis.context import RequestContext, Services
    from mockbroker.coordinator.runtime import CoordinatorRuntime
    from mockbroker_protocol.messages.group_offsets import (
        OffsetFetchRequest,
        OffsetFetchRequestGroup,
        OffsetFetchRequestTopics,
    )


def handle(
    services: Services,
    ctx: RequestContext,
    request: OffsetFetchRequest,
    amend: Callable[[OffsetFetchResponse], None] | None = None,
    others: Sequence[CoordinatorRuntime[Any]] = (),
) -> object:
    """The positions of one group up to v7, of each group from v8 on.

    They are looked up in the first slice of the answer; those that must be stable wait until they
    are replicated. So does what `amend` says of them from the state of `others`.
    """
    if amend is None and not request.require_stable:
        return services.answer_in_slices(ctx, _positions(services, ctx, request))
    runtimes = (services.groups.service.runtime, *others)
    group_ids = [one.group_id for one in request.groups] or [request.group_id]
    ahead = [(each, one) for each in runtimes for one in group_ids if each.is_ahead(one)]
    if not request.require_stable:
        ahead = []
    if amend is None and not ahead:
        return services.answer_in_slices(ctx, _positions(services, ctx, request))
    response = all_at_once(_positions(services, ctx, request))
    if amend is not None:
        amend(response)
    if not ahead:
        return response
    waits_for = len(ahead)

    def committed(group_id: str, error: ErrorCode) -> None:
        nonlocal waits_for
        waits_for -= 1
        if error is not ErrorCode.NONE:
            _take_back(response, group_id)
        if not waits_for:
            ctx.respond_in_slices(response)

    for runtime, group_id in ahead:
        runtime.when_committed(group_id, partial(committed, group_id))
    return PARKED


def _take_back(response: OffsetFetchResponse, group_id: str) -> None:
    """The group's positions were not replicated in time.

    NOT_COORDINATOR, which old consumers understand (GroupCoordinatorService
    .handleOffsetFetchException).
    """
    if not response.groups:
        response.error_code, response.topics = ErrorCode.NOT_COORDINATOR, []
    for group in response.groups:
        if group.group_id == group_id and not group.error_code:
            group.error_code, group.topics = ErrorCode.NOT_COORDINATOR, []


def _positions(
    services: Services, ctx: RequestContext, request: OffsetFetchRequest
) -> Generator[None, None, OffsetFetchResponse]:
    if ctx.api_version < OFFSET_FETCH_GROUPS:
        return (yield from _one_group(services, ctx, request))
    by_id = ctx.api_version >= OFFSET_FETCH_TOPIC_IDS
    telling = [
        _fetch_group(services, group, by_id, request.require_stable) for group in request.groups
    ]
    groups = []
    for one in telling:
        told = yield from one
        groups.append(told)
    return OffsetFetchResponse(throttle_time_ms=ctx.throttle_time_ms, groups=groups)


def _one_group(
    services: Services, ctx: RequestContext, request: OffsetFetchRequest
) -> Generator[None, None, OffsetFetchResponse]:
    asked = None
    if request.topics is not None:
        asked = [TopicPartitions(one.name, one.partition_indexes) for one in request.topics]
    error, topics = services.groups.service.offsets.fetch(
        request.group_id, asked, require_stable=request.require_stable
    )
    if error is not ErrorCode.NONE and ctx.api_version < OFFSET_FETCH_ERROR:
        topics = [(topic, _failed(topic, error)) for topic in asked or []]
    told = yield from in_slices(
        OffsetFetchResponseTopic(name=topic.name, partitions=[_partition(one) for one in fetched])
        for topic, fetched in topics
    )
    return OffsetFetchResponse(throttle_time_ms=ctx.throttle_time_ms, error_code=error, topics=told)


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
) -> Generator[None, None, OffsetFetchResponseGroup]:
    """Look the group's positions up now; the answer tells them in slices."""
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
    ids = services.metadata.topics if by_id and asked is None else None

    def tell() -> Generator[None, None, OffsetFetchResponseGroup]:
        if error is not ErrorCode.NONE:
            return OffsetFetchResponseGroup(group_id=group.group_id, error_code=error)
        told = yield from in_slices(
            _topic(topic, fetched, topic.topic_id if ids is None else ids[topic.name].id)
            for topic, fetched in topics
            # Of all topics: without an id there is no way to name it.
            if ids is None or topic.name in ids
        )
        return OffsetFetchResponseGroup(group_id=group.group_id, topics=[*told, *unknown])

    return tell()


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


def guard(auth: AuthHelper, request: OffsetFetchRequest) -> object | None:
    """DESCRIBE on each group, and on each topic: those of all topics are hidden."""
    describe = AclOperation.DESCRIBE
    if auth.version < OFFSET_FETCH_GROUPS:
        refused = auth.require_group(describe, request.group_id)
        if refused is not None:
            return refused
        if request.topics is not None:
            return auth.filter_topics(describe, _without_metadata)
        auth.amend(lambda response: _hide_topics(auth, response))
        return None
    unauthorized = [
        OffsetFetchResponseGroup(one.group_id, [], ErrorCode.GROUP_AUTHORIZATION_FAILED)
        for one in request.groups
        if not auth.authorize_group(describe, one.group_id)
    ]
    refused_ids = {one.group_id for one in unauthorized}
    places = {one.group_id: place for place, one in enumerate(request.groups)}
    request.groups = [one for one in request.groups if one.group_id not in refused_ids]
    hidden = {one.group_id: _take_topics_out(auth, one) for one in request.groups}

    def amend(response: OffsetFetchResponse) -> None:
        for group in response.groups:
            if not group.error_code:
                group.topics += hidden.get(group.group_id, [])
        response.groups += unauthorized
        response.groups.sort(key=lambda group: places[group.group_id])
        _hide_topics(auth, response)

    auth.amend(amend)
    return None


def _take_topics_out(
    auth: AuthHelper, group: OffsetFetchRequestGroup
) -> list[OffsetFetchResponseTopics]:
    """What is told of the topics in it that may not be described; the others stay."""
    kept: list[OffsetFetchRequestTopics] = []
    unauthorized: list[OffsetFetchResponseTopics] = []
    for topic in group.topics or ():
        name = topic.name or auth.services.metadata.topic_name(topic.topic_id)
        if name is None or auth.authorize_topic(AclOperation.DESCRIBE, name):
            kept.append(topic)
            continue
        parts = [
            OffsetFetchResponsePartitions(index, -1, -1, "", ErrorCode.TOPIC_AUTHORIZATION_FAILED)
            for index in topic.partition_indexes
        ]
        unauthorized.append(OffsetFetchResponseTopics(topic.name, topic.topic_id, parts))
    if unauthorized:
        group.topics = kept
    return unauthorized


def _without_metadata(refused: OffsetFetchResponse, _: AuthHelper) -> None:
    """Kafka tells an empty metadata beside the error, and no epoch."""
    for topic in refused.topics:
        for one in topic.partitions:
            one.metadata = ""
            one.committed_leader_epoch = -1


def _hide_topics(auth: AuthHelper, response: OffsetFetchResponse) -> None:
    """Leave out what may not be described, but for what was refused by name."""

    def is_told(name: str, partitions: Sequence[_WithError]) -> bool:
        denied = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        return (
            not name
            or auth.authorize_topic(AclOperation.DESCRIBE, name)
            or any(one.error_code == denied for one in partitions)
        )

    response.topics = [one for one in response.topics if is_told(one.name, one.partitions)]
    for group in response.groups:
        group.topics = [one for one in group.topics if is_told(one.name, one.partitions)]


class _WithError(Protocol):
    error_code: int
