"""GetTelemetrySubscriptions as a client sees it."""

from __future__ import annotations

from mockbroker.metadata.changes import ConfigsChanged
from mockbroker_protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from mockbroker_protocol.messages.telemetry import (
    GetTelemetrySubscriptionsRequest,
    GetTelemetrySubscriptionsResponse,
)
from tests.support.core import Core


def test_a_client_is_known_by_what_it_told() -> None:
    core = Core()
    match = {"metrics": "x.", "match": "client_software_name=mine,client_id=test"}
    core.cluster.metadata.apply(ConfigsChanged(16, "s", match))
    client = core.client()
    client.call(ApiVersionsRequest("mine", "1"), 3, ApiVersionsResponse)
    request = GetTelemetrySubscriptionsRequest()
    answer = client.call(request, 0, GetTelemetrySubscriptionsResponse)
    assert (answer.error_code, answer.requested_metrics) == (0, ["x."])
    assert (answer.push_interval_ms, answer.telemetry_max_bytes) == (300_000, 1_048_576)
    assert answer.accepted_compression_types == [4, 3, 1, 2]
    other = core.client().call(request, 0, GetTelemetrySubscriptionsResponse)
    assert other.requested_metrics == []
    again = GetTelemetrySubscriptionsRequest(answer.client_instance_id)
    assert client.call(again, 0, GetTelemetrySubscriptionsResponse).error_code == 89


def test_nothing_is_kept_of_a_client_that_left() -> None:
    core = Core()
    client = core.client()
    client.call(ApiVersionsRequest("mine", "1"), 3, ApiVersionsResponse)
    services = core.broker.services
    assert len(services.client_software) == 1
    client.disconnect()
    assert services.client_software == {}
