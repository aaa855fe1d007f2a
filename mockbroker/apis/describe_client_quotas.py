"""DescribeClientQuotas: the quotas of the entities that a filter finds (KIP-546).

Versions: v1 is flexible. A filter without components finds all, unless it is strict.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.apis.auth_helper import cluster_guard
from mockbroker.apis.context import in_slices
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker.metadata.client_quotas import Component, filter_problem, matching
from mockbroker_protocol.messages.quotas import (
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    DescribeClientQuotasResponseEntryData,
    EntityData,
    ValueData,
)

if TYPE_CHECKING:
    from collections.abc import Generator

    from mockbroker.apis.auth_helper import AuthHelper
    from mockbroker.apis.context import RequestContext, Services


def _tell(refused: DescribeClientQuotasResponse, _: AuthHelper) -> None:
    refused.error_message = refused.entries = None


guard = cluster_guard(AclOperation.DESCRIBE_CONFIGS, _tell)


def handle(services: Services, ctx: RequestContext, request: DescribeClientQuotasRequest) -> object:
    return services.answer_in_slices(ctx, _answer(services, ctx, request))


def _answer(
    services: Services, ctx: RequestContext, request: DescribeClientQuotasRequest
) -> Generator[None, None, DescribeClientQuotasResponse]:
    components = [
        Component(each.entity_type, each.match_type, each.match) for each in request.components
    ]
    problem = filter_problem(components)
    if problem is not None:
        return DescribeClientQuotasResponse(
            ctx.throttle_time_ms, problem.error, problem.message, None
        )
    quotas = dict(services.metadata.client_quotas)
    entries = yield from in_slices(
        DescribeClientQuotasResponseEntryData(
            [EntityData(kind, name) for kind, name in entity],
            [ValueData(key, value) for key, value in values.items()],
        )
        for entity, values in matching(quotas, components, strict=request.strict)
    )
    return DescribeClientQuotasResponse(ctx.throttle_time_ms, 0, "", entries)
