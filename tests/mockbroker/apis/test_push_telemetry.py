"""PushTelemetry as a client sees it, and what a test finds of it."""

from __future__ import annotations

from mockbroker_protocol.messages.telemetry import (
    GetTelemetrySubscriptionsRequest,
    GetTelemetrySubscriptionsResponse,
    PushTelemetryRequest,
    PushTelemetryResponse,
)
from tests.support.core import Core


def test_metrics_are_kept_for_who_looks() -> None:
    core = Core()
    client = core.client()
    asked = client.call(GetTelemetrySubscriptionsRequest(), 0, GetTelemetrySubscriptionsResponse)
    push = PushTelemetryRequest(asked.client_instance_id, asked.subscription_id, metrics=b"otlp")
    assert client.call(push, 0, PushTelemetryResponse).error_code == 0
    (pushed,) = core.broker.services.client_metrics().pushed
    assert (pushed.metrics, pushed.client_id, pushed.terminating) == (b"otlp", "test", False)
    assert client.call(push, 0, PushTelemetryResponse).error_code == 89
