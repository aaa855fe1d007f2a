"""Pushes of all nodes, in the order of time."""

from __future__ import annotations

from mockbroker.state.telemetry import pushed_metrics
from mockbroker_protocol.messages.telemetry import (
    GetTelemetrySubscriptionsRequest,
    GetTelemetrySubscriptionsResponse,
    PushTelemetryRequest,
    PushTelemetryResponse,
)
from tests.support.cluster_core import ClusterCore


def test_pushes_of_all_nodes_are_in_the_order_of_time() -> None:
    core = ClusterCore()
    assert pushed_metrics(core.cluster) == []
    for node in (2, 1, 3):
        client = core.client(f"app-{node}", node=node)
        asked = client.call(
            GetTelemetrySubscriptionsRequest(bytes(16)), 0, GetTelemetrySubscriptionsResponse
        )
        push = PushTelemetryRequest(
            asked.client_instance_id, asked.subscription_id, metrics=b"%d" % node
        )
        assert client.call(push, 0, PushTelemetryResponse).error_code == 0
        core.advance(10)
    pushed = pushed_metrics(core.cluster)
    assert [(one.client_id, one.metrics) for one in pushed] == [
        ("app-2", b"2"), ("app-1", b"1"), ("app-3", b"3"),
    ]  # fmt: skip
