"""DeleteTopics: topics go, by name or by id.

Versions: v3 may answer that deletion is disabled; v5 error messages; v6 topic ids (KIP-516).
Divergence: Apache Kafka shuffles the answers, to hide which topics exist; here refusals come
first, and within that the order is that of the request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.metadata.topic_requests import TopicReference
from mockbroker_protocol.api_keys import ApiKey
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)

if TYPE_CHECKING:
    from mockbroker.apis.context import RequestContext, Services

KEY: Final = ApiKey.DELETE_TOPICS

_FIRST_VERSION_WITH_DISABLED_ERROR: Final = 3
_FIRST_VERSION_WITH_IDS: Final = 6


def handle(
    services: Services, ctx: RequestContext, request: DeleteTopicsRequest
) -> DeleteTopicsResponse:
    if ctx.api_version >= _FIRST_VERSION_WITH_IDS:
        references = [TopicReference(topic.name, topic.topic_id) for topic in request.topics]
    else:
        references = [TopicReference(name) for name in request.topic_names]
    if services.config.bool("delete.topic.enable"):
        results = [
            DeletableTopicResult(deleted.name, deleted.topic_id, deleted.error, deleted.message)
            for deleted in services.controller.delete_topics(references)
        ]
    else:
        disabled = (
            ErrorCode.TOPIC_DELETION_DISABLED
            if ctx.api_version >= _FIRST_VERSION_WITH_DISABLED_ERROR
            else ErrorCode.INVALID_REQUEST
        )
        results = [
            DeletableTopicResult(reference.name, reference.topic_id, disabled)
            for reference in references
        ]
    return DeleteTopicsResponse(throttle_time_ms=ctx.throttle_time_ms, responses=results)
