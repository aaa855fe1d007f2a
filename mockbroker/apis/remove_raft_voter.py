"""RemoveRaftVoter (key 81), v0: take a controller out of the voters (KIP-853).

The only voter stays: see `quorum.voters`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.apis.auth_helper import CLUSTER_DENIED, cluster_guard, told
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker.quorum.voters import refuse_removal
from mockbroker_protocol.messages.quorum import RemoveRaftVoterRequest, RemoveRaftVoterResponse

if TYPE_CHECKING:
    from mockbroker.apis.context import RequestContext, Services

guard = cluster_guard(AclOperation.ALTER, told(CLUSTER_DENIED))


def handle(
    services: Services, ctx: RequestContext, request: RemoveRaftVoterRequest
) -> RemoveRaftVoterResponse:
    refused = refuse_removal(request, services.metadata, services.quorum)
    return RemoveRaftVoterResponse(ctx.throttle_time_ms, refused.error, refused.message)
