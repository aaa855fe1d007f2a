"""DescribeCluster: cluster id, controller and brokers (KIP-700).

Versions: v1 names the kind of endpoint asked for (KIP-919); v2 may include fenced brokers
(KIP-1073).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.metadata.authorized_operations import CLUSTER_OPERATIONS, NOT_ASKED
from mockbroker.metadata.brokers import broker_endpoint
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.metadata import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)

if TYPE_CHECKING:
    from mockbroker.apis.auth_helper import AuthHelper
    from mockbroker.apis.context import RequestContext, Services


_BROKERS: Final = 1
_CONTROLLERS: Final = 2


def handle(
    services: Services, ctx: RequestContext, request: DescribeClusterRequest
) -> DescribeClusterResponse:
    if request.endpoint_type != _BROKERS:
        return _refused(ctx, request.endpoint_type)
    store = services.metadata
    alive = store.alive_brokers()
    shown = alive
    if request.include_fenced_brokers:
        shown = [broker for _, broker in sorted(store.brokers.items())]
    return DescribeClusterResponse(
        throttle_time_ms=ctx.throttle_time_ms,
        cluster_id=store.cluster_id,
        controller_id=alive[0].node_id if alive else -1,
        brokers=[
            DescribeClusterBroker(
                broker.node_id, *broker_endpoint(ctx, broker), broker.rack, broker.fenced
            )
            for broker in shown
        ],
        cluster_authorized_operations=(
            CLUSTER_OPERATIONS if request.include_cluster_authorized_operations else NOT_ASKED
        ),
    )


def _refused(ctx: RequestContext, endpoint_type: int) -> DescribeClusterResponse:
    # Kafka: AuthHelper.computeDescribeClusterResponse.
    if endpoint_type == _CONTROLLERS:
        error = ErrorCode.MISMATCHED_ENDPOINT_TYPE
        message = (
            "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of "
            "type CONTROLLER"
        )
    else:
        error = ErrorCode.UNSUPPORTED_ENDPOINT_TYPE
        message = f"Unsupported endpoint type {endpoint_type}"
    return DescribeClusterResponse(
        throttle_time_ms=ctx.throttle_time_ms, error_code=error, error_message=message
    )


def guard(auth: AuthHelper, request: DescribeClusterRequest) -> None:
    """Anybody may ask; what its sender may do to the cluster is told as it is."""
    if not request.include_cluster_authorized_operations:
        return

    def amend(response: DescribeClusterResponse) -> None:
        if not response.error_code:
            response.cluster_authorized_operations = auth.cluster_operations()

    auth.amend(amend)
