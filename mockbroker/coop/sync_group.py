"""SyncGroup of a broker with the extension: what the leader of a transparent group assigned."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.apis import sync_group
from mockbroker.coop.extension import extension_of

if TYPE_CHECKING:
    from mockbroker.apis.context import RequestContext, Services, Verdict
    from mockbroker_protocol.messages.group_membership import SyncGroupRequest, SyncGroupResponse

guard = sync_group.guard


def handle(
    services: Services, ctx: RequestContext, request: SyncGroupRequest
) -> SyncGroupResponse | Verdict:
    """As without the extension, with the partitions of transparent groups divided."""
    if request.assignments:
        extension = extension_of(services)
        if extension.in_use.transparent:
            extension.transparent.divide(request)
    return sync_group.handle(services, ctx, request)
