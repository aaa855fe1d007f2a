"""AddRaftVoter (key 80), v0–v1: let a controller join the voters (KIP-853); v1 may wait less.

None joins: see `quorum.voters`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.apis.auth_helper import CLUSTER_DENIED, cluster_guard, told
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker.quorum.voters import refuse_addition
from mockbroker_protocol.messages.quorum import AddRaftVoterRequest, AddRaftVoterResponse

if TYPE_CHECKING:
    from mockbroker.apis.context import RequestContext, Services

guard = cluster_guard(AclOperation.ALTER, told(CLUSTER_DENIED))


def handle(
    services: Services, ctx: RequestContext, request: AddRaftVoterRequest
) -> AddRaftVoterResponse:
    refused = refuse_addition(request, services.metadata, services.quorum)
    return AddRaftVoterResponse(ctx.throttle_time_ms, refused.error, refused.message)
