"""JoinGroup (11), v0–v9: come into a group, or come again for the next generation.

v1 RebalanceTimeoutMs (before: the session time-out) · v2 throttle time · v4 MEMBER_ID_REQUIRED for
a stranger (KIP-394) · v5 GroupInstanceId (KIP-345) · v6 flexible · v7 ProtocolType in the answer
(KIP-559) · v8 Reason (KIP-800) · v9 SkipAssignment (KIP-814).

Parked until the rebalance completes. The connection may go meanwhile: as in Kafka the member then
stays until its session or the rebalance is over. Rules: `coordinator.group.join`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.apis.context import PARKED, Verdict
from mockbroker.coordinator.group.members import ClientIdentity
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker_protocol.versions import JOIN_GROUP_NULL_PROTOCOL

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker.apis.auth_helper import AuthHelper
    from mockbroker.apis.context import RequestContext, Services
    from mockbroker_protocol.messages.group_membership import JoinGroupRequest, JoinGroupResponse


def handle(
    services: Services,
    ctx: RequestContext,
    request: JoinGroupRequest,
    amend: Callable[[JoinGroupResponse], None] | None = None,
) -> Verdict:
    """Answer through `ctx.respond`, at once or later; `amend` sees the answer before."""
    client = ClientIdentity(ctx.api_version, ctx.client_id, ctx.peer, services.shown_topics)

    def respond(response: JoinGroupResponse) -> None:
        response.throttle_time_ms = ctx.throttle_time_ms
        # JoinGroupResponse's constructor: the empty name and null are one.
        has_null = ctx.api_version >= JOIN_GROUP_NULL_PROTOCOL
        response.protocol_name = response.protocol_name or (None if has_null else "")
        if amend is not None:
            amend(response)
        ctx.respond(response)

    services.groups.service.join(request, client, respond)
    return PARKED


def guard(auth: AuthHelper, request: JoinGroupRequest) -> object | None:
    """READ on the group; of what its expressions match, the topics that may be described."""
    auth.show_topics()
    refused = auth.require_group(AclOperation.READ, request.group_id)
    if refused is not None and auth.version >= JOIN_GROUP_NULL_PROTOCOL:
        refused.protocol_name = None  # type: ignore[attr-defined]  # a JoinGroupResponse
    return refused
