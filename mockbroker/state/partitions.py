"""Finding a partition where it is led, whichever node that is. Called by the rest of this room."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mockbroker.cluster.cluster import Cluster
    from mockbroker.replica.partition import Partition


def leading_partition(cluster: Cluster, topic: str, index: int) -> Partition | None:
    """The partition on the node that leads it; None when there is no such, or no leader."""
    for broker in cluster.brokers:
        partition = broker.services.replicas.partition(topic, index)
        if partition is not None and partition.is_leader:
            return partition
    return None


def topic_names(cluster: Cluster) -> list[str]:
    """The topics that are no coordinator's, in order."""
    return sorted(name for name, topic in cluster.metadata.topics.items() if not topic.internal)
