"""UnregisterBroker (key 64), v0: forget a broker that will not come back (KIP-500).

As in QuorumController.unregisterBroker: a broker that lives is forgotten too, and stays so until it
starts anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.apis.auth_helper import NEEDS_ALTER, cluster_guard, told
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker_protocol.messages.quorum import UnregisterBrokerRequest, UnregisterBrokerResponse

if TYPE_CHECKING:
    from mockbroker.apis.context import RequestContext, Services

guard = cluster_guard(AclOperation.ALTER, told(NEEDS_ALTER))


def handle(
    services: Services, ctx: RequestContext, request: UnregisterBrokerRequest
) -> UnregisterBrokerResponse:
    answer = services.controller.unregister_broker(request.broker_id)
    return UnregisterBrokerResponse(ctx.throttle_time_ms, answer.error, answer.message or "")
