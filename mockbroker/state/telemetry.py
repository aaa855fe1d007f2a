"""What clients told of their own metrics (KIP-714), of all nodes. Called by `api`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mockbroker.cluster.cluster import Cluster
    from mockbroker.telemetry.client_metrics import PushedMetrics


def pushed_metrics(cluster: Cluster) -> list[PushedMetrics]:
    """The pushes that are still kept, oldest first."""
    pushed = [one for broker in cluster.brokers for one in broker.services.client_metrics().pushed]
    return sorted(pushed, key=lambda one: one.pushed_ms)
