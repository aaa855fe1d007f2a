"""DeleteTopics: topics go, by name or by id.

Versions: v3 may answer that deletion is disabled; v5 error messages; v6 topic ids (KIP-516).
Divergence: Apache Kafka shuffles the answers, to hide which topics exist; here refusals come
first, and within that the order is that of the request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker.metadata.topic_requests import TopicReference
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from mockbroker_protocol.schema import ZERO_UUID
from mockbroker_protocol.versions import DELETE_TOPICS_DISABLED, DELETE_TOPICS_TOPIC_IDS

if TYPE_CHECKING:
    from collections.abc import Generator

    from mockbroker.apis.auth_helper import AuthHelper
    from mockbroker.apis.context import RequestContext, Services


def handle(services: Services, ctx: RequestContext, request: DeleteTopicsRequest) -> object:
    """They are deleted in slices: see `Controller.deleting_topics`."""
    return services.answer_in_slices(ctx, _answer(services, ctx, request))


def _answer(
    services: Services, ctx: RequestContext, request: DeleteTopicsRequest
) -> Generator[None, None, DeleteTopicsResponse]:
    if ctx.api_version >= DELETE_TOPICS_TOPIC_IDS:
        references = [TopicReference(topic.name, topic.topic_id) for topic in request.topics]
    else:
        references = [TopicReference(name) for name in request.topic_names]
    if services.config.bool("delete.topic.enable"):
        gone = yield from services.controller.deleting_topics(references)
        results = [
            DeletableTopicResult(deleted.name, deleted.topic_id, deleted.error, deleted.message)
            for deleted in gone
        ]
    else:
        disabled = (
            ErrorCode.TOPIC_DELETION_DISABLED
            if ctx.api_version >= DELETE_TOPICS_DISABLED
            else ErrorCode.INVALID_REQUEST
        )
        results = [
            DeletableTopicResult(reference.name, reference.topic_id, disabled)
            for reference in references
        ]
    return DeleteTopicsResponse(throttle_time_ms=ctx.throttle_time_ms, responses=results)


def guard(auth: AuthHelper, request: DeleteTopicsRequest) -> None:
    """DELETE on the cluster or the topic.

    Whoever may not describe a topic does not learn its name from its id.
    """
    delete = AclOperation.DELETE
    if auth.authorize_cluster(delete, logs_denial=False):
        return
    unauthorized: list[object] = []

    def refuse(name: str | None, topic_id: bytes) -> None:
        unauthorized.append(
            DeletableTopicResult(
                name,
                topic_id,
                ErrorCode.TOPIC_AUTHORIZATION_FAILED,
                "Topic authorization failed.",
            )
        )

    kept = []
    store = auth.services.metadata
    for topic in request.topics:
        by_id = topic.topic_id != ZERO_UUID
        name = store.topic_name(topic.topic_id) if by_id else topic.name
        if name is None or (by_id and topic.name is not None):
            kept.append(topic)
        elif not auth.authorize_topic(AclOperation.DESCRIBE, name):
            refuse(None if by_id else name, topic.topic_id)
        elif auth.authorize_topic(delete, name):
            kept.append(topic)
        else:
            refuse(name, topic.topic_id)
    names = []
    for name in request.topic_names:
        if auth.authorize_topic(delete, name):
            names.append(name)
        else:
            refuse(name, ZERO_UUID)
    request.topics, request.topic_names = kept, names
    auth.append("responses", unauthorized)
