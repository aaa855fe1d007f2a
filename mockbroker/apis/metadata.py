"""Metadata: the brokers, and where each partition of the topics asked for has its leader.

Versions: v0 an empty list asks for all topics, from v1 null does and an empty list for none; v4
lets the client forbid auto-creation; v8 authorized operations (KIP-430); v10 topic ids in answers,
v12 in requests (KIP-516); v11 drops the cluster's operations (KIP-700); v13 a top-level error.
A topic that is created on the fly is answered with error 3 first, as Apache Kafka does: the client
asks again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.apis.context import MADE_AT_ONCE, in_slices
from mockbroker.metadata.acls import ResourceType
from mockbroker.metadata.authorized_operations import (
    CLUSTER_OPERATIONS,
    NOT_ASKED,
    TOPIC_OPERATIONS,
    AclOperation,
)
from mockbroker.metadata.brokers import broker_endpoint
from mockbroker.metadata.names import NO_TOPIC_ID, invalid_topic_name, is_internal
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from mockbroker_protocol.versions import METADATA_TOPIC_IDS

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Sequence

    from mockbroker.apis.auth_helper import AuthHelper
    from mockbroker.apis.context import RequestContext, Services
    from mockbroker.metadata.store import MetadataStore, Topic


def handle(services: Services, ctx: RequestContext, request: MetadataRequest) -> object:
    return services.answer_in_slices(ctx, answer(services, ctx, request))


def answer(
    services: Services, ctx: RequestContext, request: MetadataRequest
) -> Generator[None, None, MetadataResponse]:
    """Make the answer in slices."""
    store = services.metadata
    version = ctx.api_version
    refusal = _refusal(version, request)
    if refusal is not None:
        return _refused(ctx, request, refusal)
    operations = TOPIC_OPERATIONS if request.include_topic_authorized_operations else NOT_ASKED
    alive = store.alive_brokers()
    living = {broker.node_id for broker in alive}
    topics = yield from _topics(services, version, request, living, operations)
    return MetadataResponse(
        throttle_time_ms=ctx.throttle_time_ms,
        brokers=[
            MetadataResponseBroker(broker.node_id, *broker_endpoint(ctx, broker), broker.rack)
            for broker in alive
        ],
        cluster_id=store.cluster_id,
        # Any living broker: no controller answers clients in KRaft.
        controller_id=alive[0].node_id if alive else -1,
        topics=topics,
        cluster_authorized_operations=(
            CLUSTER_OPERATIONS if request.include_cluster_authorized_operations else NOT_ASKED
        ),
    )


def _refusal(version: int, request: MetadataRequest) -> ErrorCode | None:
    for topic in request.topics or ():
        if version < METADATA_TOPIC_IDS:
            if topic.name is None or topic.topic_id != NO_TOPIC_ID:
                return ErrorCode.INVALID_REQUEST
        elif topic.name is None and topic.topic_id == NO_TOPIC_ID:
            # Apache Kafka stumbles over the null name, and says so.
            return ErrorCode.UNKNOWN_SERVER_ERROR
    return None


def _refused(ctx: RequestContext, request: MetadataRequest, error: ErrorCode) -> MetadataResponse:
    """Kafka: MetadataRequest.getErrorResponse; each topic bears the error, nothing else is told."""
    return MetadataResponse(
        throttle_time_ms=ctx.throttle_time_ms,
        topics=[
            MetadataResponseTopic(error, topic.name or "", topic.topic_id)
            for topic in request.topics or ()
        ],
        error_code=error,
    )


def _topics(
    services: Services, version: int, request: MetadataRequest, alive: set[int], operations: int
) -> Generator[None, None, list[MetadataResponseTopic]]:
    store = services.metadata
    wanted = request.topics
    if wanted is None or (not wanted and version == 0):
        return (yield from _described(list(store.topics.values()), alive, operations))
    ids = {topic.topic_id: None for topic in wanted if topic.topic_id != NO_TOPIC_ID}
    if ids:
        return (yield from _by_id(store, ids, alive, operations))
    names = {topic.name: None for topic in wanted if topic.name is not None}
    found = [store.topics[name] for name in names if name in store.topics]
    missing = [name for name in names if name not in store.topics]
    answers = yield from _described(found, alive, operations)
    if missing:
        told = yield from _missing(services, request, missing)
        answers += [
            MetadataResponseTopic(
                error, name, NO_TOPIC_ID, is_internal(name, services.config), [], operations
            )
            for name, error in told
        ]
    return answers


def _by_id(
    store: MetadataStore, ids: Iterable[bytes], alive: set[int], operations: int
) -> Generator[None, None, list[MetadataResponseTopic]]:
    # One id is enough for the whole request to go by ids: names beside it are not looked at.
    unknown = [
        MetadataResponseTopic(ErrorCode.UNKNOWN_TOPIC_ID, None, topic_id)
        for topic_id in ids
        if topic_id not in store.topics_by_id
    ]
    found = [store.topics_by_id[topic_id] for topic_id in ids if topic_id in store.topics_by_id]
    return unknown + (yield from _described(found, alive, operations))


def _missing(
    services: Services, request: MetadataRequest, names: list[str]
) -> Generator[None, None, Iterable[tuple[str, ErrorCode]]]:
    if request.allow_auto_topic_creation and services.config.bool("auto.create.topics.enable"):
        return (yield from services.controller.auto_creating(names))
    return [
        (
            name,
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            if invalid_topic_name(name) is None
            else ErrorCode.INVALID_TOPIC_EXCEPTION,
        )
        for name in names
    ]


def _described(
    topics: Sequence[Topic], alive: set[int], operations: int
) -> Generator[None, None, list[MetadataResponseTopic]]:
    described = []
    left = MADE_AT_ONCE
    for topic in topics:
        if left <= 0:
            yield
            left = MADE_AT_ONCE
        left -= 1 + len(topic.partitions)
        partitions = _partitions(topic, alive)
        described.append(
            MetadataResponseTopic(0, topic.name, topic.id, topic.internal, partitions, operations)
        )
    return described


def _partitions(topic: Topic, alive: set[int]) -> list[MetadataResponsePartition]:
    answers = []
    for index, state in enumerate(topic.partitions):
        leads = state.leader in alive
        answers.append(
            MetadataResponsePartition(
                0 if leads else ErrorCode.LEADER_NOT_AVAILABLE,
                index,
                state.leader if leads else -1,
                state.leader_epoch,
                state.replicas,
                state.isr,
                [node for node in state.replicas if node not in alive],
            )
        )
    return answers


def guard(auth: AuthHelper, request: MetadataRequest) -> None:
    """Of all topics, those that may not be described are hidden; asked for, they are refused."""
    unauthorized = _take_unauthorized(auth, request)

    def amend(response: MetadataResponse) -> Generator[None, None, None]:
        if unauthorized and request.topics is None:
            response.topics = []
        told = request.include_topic_authorized_operations
        response.topics = yield from in_slices(
            topic for topic in response.topics if _may_be_told(auth, topic, operations=told)
        )
        if request.include_cluster_authorized_operations:
            response.cluster_authorized_operations = auth.cluster_operations()
        response.topics += unauthorized

    auth.amend(amend)


def _may_be_told(auth: AuthHelper, topic: MetadataResponseTopic, *, operations: bool) -> bool:
    """Whether its sender may describe it; if so, and asked for, what else it may do to it."""
    name = topic.name
    if name is None:
        return True
    if not auth.authorize_topic(AclOperation.DESCRIBE, name, logs_denial=False):
        return False
    if operations and topic.topic_authorized_operations != NOT_ASKED:
        topic.topic_authorized_operations = auth.authorized_operations(ResourceType.TOPIC, name)
    return True


def _take_unauthorized(auth: AuthHelper, request: MetadataRequest) -> list[MetadataResponseTopic]:
    """Take the topics out that may not be described or created: what is answered of them."""
    topics = request.topics
    if topics is None or (not topics and auth.version == 0):
        return []
    store = auth.services.metadata
    by_id = any(topic.topic_id != NO_TOPIC_ID for topic in topics)
    if by_id and auth.version < METADATA_TOPIC_IDS:
        return []
    denied = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    unauthorized: dict[object, MetadataResponseTopic] = {}
    kept = []
    creates = request.allow_auto_topic_creation and auth.services.config.bool(
        "auto.create.topics.enable"
    )
    for topic in topics:
        name = store.topic_name(topic.topic_id) if by_id else topic.name
        if name is None:
            kept.append(topic)
        elif not auth.authorize_topic(AclOperation.DESCRIBE, name):
            # Who may not describe a topic does not learn its name from its id.
            unauthorized[name] = (
                MetadataResponseTopic(denied, None, topic.topic_id)
                if by_id
                else MetadataResponseTopic(denied, name)
            )
        elif creates and name not in store.topics and not auth.authorize_creation(name):
            unauthorized[name] = MetadataResponseTopic(denied, name)
        else:
            kept.append(topic)
    request.topics = kept
    if unauthorized and not kept and auth.version == 0:
        # An empty list would mean all topics there: one that nobody has stands for none.
        request.topics = None
    return list(unauthorized.values())
