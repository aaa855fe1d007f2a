"""UnregisterController (key 94), v0: forget a controller that will not come back.

There is one controller, and an active one cannot be unregistered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.apis.auth_helper import NEEDS_ALTER, cluster_guard, told
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.quorum import (
    UnregisterControllerRequest,
    UnregisterControllerResponse,
)

if TYPE_CHECKING:
    from mockbroker.apis.context import RequestContext, Services

guard = cluster_guard(AclOperation.ALTER, told(NEEDS_ALTER))
_ACTIVE: Final = "Controller cannot unregister itself while it is active."


def handle(
    services: Services, ctx: RequestContext, request: UnregisterControllerRequest
) -> UnregisterControllerResponse:
    controller_id = request.controller_id
    quorum = services.quorum
    if controller_id == (services.controller_id if quorum is None else quorum.leader_id):
        error, message = ErrorCode.INVALID_REQUEST, _ACTIVE
    else:
        error = ErrorCode.CONTROLLER_ID_NOT_REGISTERED
        message = f"Controller ID {controller_id} is not currently registered."
    return UnregisterControllerResponse(ctx.throttle_time_ms, error, message)
