"""AlterConfigs: replace all configs of a resource (KIP-133).

Versions: v2 is flexible. What the request does not name goes back to its default, so clients
prefer IncrementalAlterConfigs (KIP-339). Divergence: a resource named twice is refused with
INVALID_REQUEST; Apache Kafka 4.4 means to, and never answers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker.metadata.config_control import AlterOperation
from mockbroker.metadata.topic_requests import ConfigAlteration
from mockbroker_protocol.messages.configs import (
    AlterConfigsRequest,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)

if TYPE_CHECKING:
    from mockbroker.apis.auth_helper import AuthHelper
    from mockbroker.apis.context import RequestContext, Services


def handle(
    services: Services, ctx: RequestContext, request: AlterConfigsRequest
) -> AlterConfigsResponse:
    alterations = [
        ConfigAlteration(
            resource.resource_type,
            resource.resource_name,
            [(each.name, AlterOperation.SET, each.value) for each in resource.configs],
            replace=True,
        )
        for resource in request.resources
    ]
    answers = services.controller.alter_configs(alterations, validate_only=request.validate_only)
    return AlterConfigsResponse(
        throttle_time_ms=ctx.throttle_time_ms,
        responses=[
            AlterConfigsResourceResponse(
                answer.error, answer.message, each.resource_type, each.name
            )
            for each, answer in zip(alterations, answers, strict=True)
        ],
    )


def guard(auth: AuthHelper, request: AlterConfigsRequest) -> None:
    """ALTER_CONFIGS on each resource."""
    auth.filter_configs(
        request, AclOperation.ALTER_CONFIGS, "responses", AlterConfigsResourceResponse
    )
