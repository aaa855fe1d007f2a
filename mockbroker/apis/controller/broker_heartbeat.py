"""BrokerHeartbeat (key 63), v0–v2: a broker outside this process lives, and may serve or go.

KIP-631; Kafka: BrokerHeartbeatManager, ReplicationControlManager.processBrokerHeartbeat.
v1 offline and v2 cordoned log directories, which are not looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.apis.auth_helper import cluster_guard
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker_protocol.messages.controller_apis import BrokerHeartbeatResponse

if TYPE_CHECKING:
    from mockbroker.apis.context import RequestContext, Services
    from mockbroker_protocol.messages.controller_apis import BrokerHeartbeatRequest

guard = cluster_guard(AclOperation.CLUSTER_ACTION)


def handle(
    services: Services, ctx: RequestContext, request: BrokerHeartbeatRequest
) -> BrokerHeartbeatResponse:
    quorum = services.quorum
    assert quorum is not None
    answer = quorum.remote_brokers.heartbeat(
        request.broker_id,
        request.broker_epoch,
        request.current_metadata_offset,
        want_fence=request.want_fence,
        want_shut_down=request.want_shut_down,
    )
    return BrokerHeartbeatResponse(ctx.throttle_time_ms, *answer)
