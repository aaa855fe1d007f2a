"""ConsumerGroupHeartbeat (68), v0–v1: the one call of the consumer group protocol (KIP-848).

v1 SubscribedTopicRegex, and member ids that clients make (KIP-1082).

Rules: `coordinator.group.consumer.heartbeat`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.apis.context import PARKED, Verdict
from mockbroker.coordinator.group.members import ClientIdentity
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker_protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker.apis.auth_helper import AuthHelper
    from mockbroker.apis.context import RequestContext, Services
    from mockbroker_protocol.messages.consumer_group import (
        ConsumerGroupHeartbeatRequest,
        ConsumerGroupHeartbeatResponse,
    )


def handle(
    services: Services,
    ctx: RequestContext,
    request: ConsumerGroupHeartbeatRequest,
    amend: Callable[[ConsumerGroupHeartbeatResponse], None] | None = None,
    extra_assignor: str | None = None,
) -> Verdict:
    """Answer through `ctx.respond`, once what was decided is written; `amend` sees it before.

    `extra_assignor`: one of an extension's that this member may ask for.
    """
    client = ClientIdentity(ctx.api_version, ctx.client_id, ctx.peer, services.shown_topics)

    def respond(response: ConsumerGroupHeartbeatResponse) -> None:
        response.throttle_time_ms = ctx.throttle_time_ms
        if amend is not None:
            amend(response)
        ctx.respond(response)

    services.groups.service.consumers.heartbeat(request, client, respond, extra_assignor)
    return PARKED


def guard(auth: AuthHelper, request: ConsumerGroupHeartbeatRequest) -> object | None:
    """READ on the group, and DESCRIBE on each topic that is subscribed to.

    Expressions do without the others that they match.
    """
    auth.show_topics()
    refused = auth.require_group(AclOperation.READ, request.group_id)
    if refused is not None:
        return refused
    for name in request.subscribed_topic_names or ():
        if not auth.authorize_topic(AclOperation.DESCRIBE, name):
            return auth.refuse(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    return None
