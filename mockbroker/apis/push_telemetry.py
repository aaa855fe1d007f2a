"""PushTelemetry: a client's metrics, as it was asked for them (KIP-714).

They are kept for who looks (`telemetry.client_metrics`). Kafka:
ClientMetricsManager.processPushTelemetryRequest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker_protocol.messages.telemetry import PushTelemetryRequest, PushTelemetryResponse

if TYPE_CHECKING:
    from mockbroker.apis.context import RequestContext, Services

guard = None  # anybody may ask


def handle(
    services: Services, ctx: RequestContext, request: PushTelemetryRequest
) -> PushTelemetryResponse:
    error = services.client_metrics().push(
        request.client_instance_id,
        services.metrics_client(ctx),
        request.subscription_id,
        request.compression_type,
        bytes(request.metrics),
        terminating=request.terminating,
    )
    return PushTelemetryResponse(ctx.throttle_time_ms, error)
