"""RemoveRaftVoter (key 81), v0: take a controller out of the voters (KIP-853).

The only voter stays: see `quorum.voters`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.quorum.voters import refuse_removal
from mockbroker_protocol.api_keys import ApiKey
from mockbroker_protocol.messages.quorum import RemoveRaftVoterRequest, RemoveRaftVoterResponse

if TYPE_CHECKING:
    from mockbroker.apis.context import RequestContext, Services

KEY: Final = ApiKey.REMOVE_RAFT_VOTER


def handle(
    services: Services, ctx: RequestContext, request: RemoveRaftVoterRequest
) -> RemoveRaftVoterResponse:
    refused = refuse_removal(request, services.metadata, services.quorum)
    return RemoveRaftVoterResponse(ctx.throttle_time_ms, refused.error, refused.message)
