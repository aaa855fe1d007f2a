"""GetTelemetrySubscriptions: what metrics a client shall send, how often (KIP-714).

A zero id asks for one. Kafka: ClientMetricsManager.processGetTelemetrySubscriptionRequest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.telemetry.client_metrics import ACCEPTED_COMPRESSION
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.telemetry import (
    GetTelemetrySubscriptionsRequest,
    GetTelemetrySubscriptionsResponse,
)

if TYPE_CHECKING:
    from mockbroker.apis.context import RequestContext, Services

guard = None  # anybody may ask


def handle(
    services: Services, ctx: RequestContext, request: GetTelemetrySubscriptionsRequest
) -> GetTelemetrySubscriptionsResponse:
    telemetry = services.client_metrics()
    asked = telemetry.ask(request.client_instance_id, services.metrics_client(ctx))
    if isinstance(asked, ErrorCode):
        return GetTelemetrySubscriptionsResponse(ctx.throttle_time_ms, asked)
    return GetTelemetrySubscriptionsResponse(
        ctx.throttle_time_ms,
        0,
        asked.client_instance_id,
        asked.subscription_id,
        list(ACCEPTED_COMPRESSION),
        asked.interval_ms,
        telemetry.max_bytes,
        True,
        asked.metrics,
    )
