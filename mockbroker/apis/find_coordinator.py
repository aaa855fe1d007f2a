"""FindCoordinator (10), v0–v6: which node coordinates a group, a transaction, a share partition.

v1 KeyType, throttle time, ErrorMessage · v3 flexible · v4 many keys (KIP-699) · v6 key type 2, a
share partition as "group:topicId:partition" (KIP-932); an unknown key type is INVALID_REQUEST.

The coordinator's internal topic is created on first use and the answer given at once; Apache Kafka
answers COORDINATOR_NOT_AVAILABLE until the topic is there, and clients ask again.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from mockbroker.coordinator.runtime import partition_for
from mockbroker.metadata.acls import ResourceType
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker.metadata.brokers import broker_endpoint
from mockbroker.metadata.names import (
    GROUP_METADATA_TOPIC,
    SHARE_GROUP_STATE_TOPIC,
    TRANSACTION_STATE_TOPIC,
)
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.find_coordinator import Coordinator, FindCoordinatorResponse
from mockbroker_protocol.versions import FIND_COORDINATOR_KEYS, FIND_COORDINATOR_SHARE

if TYPE_CHECKING:
    from mockbroker.apis.auth_helper import AuthHelper
    from mockbroker.apis.context import RequestContext, Services
    from mockbroker_protocol.messages.find_coordinator import FindCoordinatorRequest


GROUP: Final = 0
TRANSACTION: Final = 1
SHARE: Final = 2
_TOPICS = {
    GROUP: GROUP_METADATA_TOPIC,
    TRANSACTION: TRANSACTION_STATE_TOPIC,
    SHARE: SHARE_GROUP_STATE_TOPIC,
}
# SharePartitionKey.getInstance: the group's name may have colons of its own.
_SHARE_KEY = re.compile(r".+:[A-Za-z0-9_-]{22}:\d+", re.DOTALL)
_NO_NODE = (-1, "", -1)

# Errors.message of what can be answered; below v4 the message always has a text.
_MESSAGES = {
    ErrorCode.NONE: "NONE",
    ErrorCode.COORDINATOR_NOT_AVAILABLE: "The coordinator is not available.",
    ErrorCode.INVALID_REQUEST: (
        "This most likely occurs because of a request being malformed by the client library or "
        "the message was sent to an incompatible broker. See the broker logs for more details."
    ),
}


_UNAUTHORIZED = {
    GROUP: (
        ResourceType.GROUP,
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        "Group authorization failed.",
    ),
    TRANSACTION: (
        ResourceType.TRANSACTIONAL_ID,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        "Transactional Id authorization failed.",
    ),
}
"""What is answered about a key that may not be described, by its type."""


def handle(
    services: Services, ctx: RequestContext, request: FindCoordinatorRequest
) -> FindCoordinatorResponse:
    """One coordinator up to v3, one a key from v4 on."""
    if ctx.api_version < FIND_COORDINATOR_KEYS:
        error, (node_id, host, port) = _find(services, ctx, request.key_type, request.key)
        return FindCoordinatorResponse(
            throttle_time_ms=ctx.throttle_time_ms,
            error_code=error,
            error_message=_MESSAGES[error],
            node_id=node_id,
            host=host,
            port=port,
        )
    found: dict[str, Coordinator] = {}
    for key in request.coordinator_keys:
        if key not in found:
            error, (node_id, host, port) = _find(services, ctx, request.key_type, key)
            # A text is there only when the whole request is refused.
            message = "" if request.key_type in _TOPICS else _MESSAGES[error]
            found[key] = Coordinator(key, node_id, host, port, error, message)
    # One that is asked for twice is answered twice.
    coordinators = [found[key] for key in request.coordinator_keys]
    return FindCoordinatorResponse(throttle_time_ms=ctx.throttle_time_ms, coordinators=coordinators)


def _find(
    services: Services, ctx: RequestContext, key_type: int, key: str
) -> tuple[ErrorCode, tuple[int, str, int]]:
    # KafkaApis.getCoordinator
    name = _TOPICS.get(key_type)
    if name is None or (key_type == SHARE and not _is_share_key(ctx, key)):
        return ErrorCode.INVALID_REQUEST, _NO_NODE
    if name not in services.metadata.topics:
        services.controller.ensure_internal_topic(name)
    topic = services.metadata.topics.get(name)
    if topic is None:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE, _NO_NODE
    if key_type == GROUP:
        index = services.groups.service.runtime.partition_for(key)
    else:
        index = partition_for(key, len(topic.partitions))
    broker = services.metadata.brokers.get(topic.partitions[index].leader)
    if broker is None or broker.fenced:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE, _NO_NODE
    if key_type == GROUP:
        services.tell(broker.node_id, lambda its: its.groups.service.rebalancer.announce(key, ctx))
    host, port = broker_endpoint(ctx, broker)
    return ErrorCode.NONE, (broker.node_id, host, port)


def _is_share_key(ctx: RequestContext, key: str) -> bool:
    return ctx.api_version >= FIND_COORDINATOR_SHARE and _SHARE_KEY.fullmatch(key) is not None


def guard(auth: AuthHelper, request: FindCoordinatorRequest) -> object | None:
    """DESCRIBE on each group or transactional id."""
    if request.key_type not in _UNAUTHORIZED:
        return None
    resource_type, error, message = _UNAUTHORIZED[request.key_type]
    if auth.version < FIND_COORDINATOR_KEYS:
        if auth.authorize(AclOperation.DESCRIBE, resource_type, request.key):
            return None
        return FindCoordinatorResponse(auth.ctx.throttle_time_ms, error, message, *_NO_NODE)
    keys = request.coordinator_keys
    request.coordinator_keys = [
        key for key in keys if auth.authorize(AclOperation.DESCRIBE, resource_type, key)
    ]
    known = set(request.coordinator_keys)

    def amend(response: FindCoordinatorResponse) -> None:
        found = iter(response.coordinators)
        response.coordinators = [
            next(found) if key in known else Coordinator(key, *_NO_NODE, error, "") for key in keys
        ]

    auth.amend(amend)
    return None
