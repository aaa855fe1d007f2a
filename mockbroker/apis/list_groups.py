"""ListGroups (16), v0–v5: the groups that this node coordinates.

v1 throttle time · v3 flexible · v4 StatesFilter and the states (KIP-518) · v5 TypesFilter and the
types (KIP-848).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.apis.context import in_slices
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.group_admin import ListGroupsResponse

if TYPE_CHECKING:
    from collections.abc import Generator

    from mockbroker.apis.auth_helper import AuthHelper
    from mockbroker.apis.context import RequestContext, Services
    from mockbroker_protocol.messages.group_admin import ListGroupsRequest


def handle(services: Services, ctx: RequestContext, request: ListGroupsRequest) -> object:
    """The groups that pass both filters, in slices."""
    return services.answer_in_slices(ctx, _answer(services, ctx, request))


def _answer(
    services: Services, ctx: RequestContext, request: ListGroupsRequest
) -> Generator[None, None, ListGroupsResponse]:
    service = services.groups.service
    if service.runtime.is_loading:
        return ListGroupsResponse(
            throttle_time_ms=ctx.throttle_time_ms, error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        )
    groups = yield from in_slices(service.list_groups(request.states_filter, request.types_filter))
    return ListGroupsResponse(throttle_time_ms=ctx.throttle_time_ms, groups=groups)


def guard(auth: AuthHelper, _: ListGroupsRequest) -> None:
    """Groups that may not be described are hidden, unless the cluster may be."""
    describe = AclOperation.DESCRIBE
    if auth.authorize_cluster(describe, logs_denial=False):
        return

    def amend(response: ListGroupsResponse) -> None:
        response.groups = [
            group
            for group in response.groups
            if auth.authorize_group(describe, group.group_id, logs_denial=False)
        ]

    auth.amend(amend)
