"""ListConfigResources: the resources that have configs (KIP-714, KIP-1142).

Version 0 was ListClientMetricsResources and asks for those alone. Topics and brokers are listed
whether or not a config is set on them; client metrics and groups only when one is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.apis.auth_helper import cluster_guard
from mockbroker.apis.context import in_slices
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker.metadata.store import (
    RESOURCE_BROKER,
    RESOURCE_BROKER_LOGGER,
    RESOURCE_CLIENT_METRICS,
    RESOURCE_GROUP,
    RESOURCE_TOPIC,
)
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.configs import (
    ConfigResource,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)

if TYPE_CHECKING:
    from collections.abc import Generator

    from mockbroker.apis.context import RequestContext, Services

guard = cluster_guard(AclOperation.DESCRIBE_CONFIGS)

_ALL: Final = (
    RESOURCE_GROUP,
    RESOURCE_CLIENT_METRICS,
    RESOURCE_BROKER_LOGGER,
    RESOURCE_BROKER,
    RESOURCE_TOPIC,
)


def handle(services: Services, ctx: RequestContext, request: ListConfigResourcesRequest) -> object:
    return services.answer_in_slices(ctx, _answer(services, ctx, request))


def _answer(
    services: Services, ctx: RequestContext, request: ListConfigResourcesRequest
) -> Generator[None, None, ListConfigResourcesResponse]:
    response = ListConfigResourcesResponse(throttle_time_ms=ctx.throttle_time_ms)
    wanted = (RESOURCE_CLIENT_METRICS,) if ctx.api_version == 0 else request.resource_types or _ALL
    if not set(wanted) <= set(_ALL):
        response.error_code = ErrorCode.UNSUPPORTED_VERSION
        return response
    response.config_resources = yield from in_slices(
        ConfigResource(name, kind)
        for kind in dict.fromkeys(wanted)
        for name in _names(services, kind)
    )
    return response


def _names(services: Services, kind: int) -> list[str]:
    if kind == RESOURCE_TOPIC:
        return list(services.metadata.topics)
    if kind in (RESOURCE_BROKER, RESOURCE_BROKER_LOGGER):
        return [str(broker.node_id) for broker in services.metadata.alive_brokers()]
    return list(services.metadata.resource_configs[kind])
