"""ListGroups (16), v0–v5: the groups that this node coordinates.

v1 throttle time · v3 flexible · v4 StatesFilter and the states (KIP-518) · v5 TypesFilter and the
types (KIP-848).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker_protocol.api_keys import ApiKey
from mockbroker_protocol.messages.group_admin import ListGroupsResponse

if TYPE_CHECKING:
    from mockbroker.apis.context import RequestContext, Services
    from mockbroker_protocol.messages.group_admin import ListGroupsRequest

KEY = ApiKey.LIST_GROUPS


def handle(
    services: Services, ctx: RequestContext, request: ListGroupsRequest
) -> ListGroupsResponse:
    """The groups that pass both filters."""
    groups = services.groups.service.list_groups(request.states_filter, request.types_filter)
    return ListGroupsResponse(throttle_time_ms=ctx.throttle_time_ms, groups=groups)
