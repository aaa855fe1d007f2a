"""Health and metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.mockbroker.admin.conftest import Api


def test_a_broker_that_serves_is_live_and_ready(api: Api) -> None:
    assert api("GET", "/health/live").body == {"status": "live"}
    assert api("GET", "/health/ready").body == {"status": "ready"}


def test_metrics_are_prometheus_text(api: Api) -> None:
    answer = api("GET", "/metrics")
    assert answer.kind.startswith("text/plain; version=0.0.4")
    lines = answer.text.splitlines()
    assert "# TYPE mockbroker_connections gauge" in lines
    assert any(line.startswith('mockbroker_build_info{version="') for line in lines)
