"""GetTelemetrySubscriptions and PushTelemetry: metrics that clients send (KIP-714)."""

# A declared class makes its list defaults anew for each instance.
from __future__ import annotations

from mockbroker_protocol.schema import ZERO_UUID, boolean, int8, int16, int32, message, uuid


@message(api_key=71)
class GetTelemetrySubscriptionsRequest:
    """Ask which metrics to send; a zero id asks for a client id."""

    client_instance_id: uuid = ZERO_UUID


@message(api_key=71)
class GetTelemetrySubscriptionsResponse:
    """Which metrics to send, how often, and compressed how."""

    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    client_instance_id: uuid = ZERO_UUID
    subscription_id: int32 = 0
    accepted_compression_types: list[int8] = []
    push_interval_ms: int32 = 0
    telemetry_max_bytes: int32 = 0
    delta_temporality: boolean = False
    requested_metrics: list[str] = []


@message(api_key=72)
class PushTelemetryRequest:
    """Metrics in OTLP, compressed as agreed."""

    client_instance_id: uuid = ZERO_UUID
    subscription_id: int32 = 0
    terminating: boolean = False
    compression_type: int8 = 0
    metrics: bytes = b""


@message(api_key=72)
class PushTelemetryResponse:
    """Success or error."""

    throttle_time_ms: int32 = 0
    error_code: int16 = 0
