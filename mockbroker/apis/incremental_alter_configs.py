"""IncrementalAlterConfigs: set, delete, append to and subtract from single configs (KIP-339).

Versions: v1 is flexible. The controller decides; what it accepts is in force with the answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker.metadata.topic_requests import ConfigAlteration
from mockbroker_protocol.messages.configs import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

if TYPE_CHECKING:
    from mockbroker.apis.auth_helper import AuthHelper
    from mockbroker.apis.context import RequestContext, Services


def handle(
    services: Services, ctx: RequestContext, request: IncrementalAlterConfigsRequest
) -> IncrementalAlterConfigsResponse:
    alterations = [
        ConfigAlteration(
            resource.resource_type,
            resource.resource_name,
            [(each.name, each.config_operation, each.value) for each in resource.configs],
        )
        for resource in request.resources
    ]
    answers = services.controller.alter_configs(alterations, validate_only=request.validate_only)
    return IncrementalAlterConfigsResponse(
        throttle_time_ms=ctx.throttle_time_ms,
        responses=[
            AlterConfigsResourceResponse(
                answer.error, answer.message, each.resource_type, each.name
            )
            for each, answer in zip(alterations, answers, strict=True)
        ],
    )


def guard(auth: AuthHelper, request: IncrementalAlterConfigsRequest) -> None:
    """ALTER_CONFIGS on each resource."""
    auth.filter_configs(
        request, AclOperation.ALTER_CONFIGS, "responses", AlterConfigsResourceResponse
    )
