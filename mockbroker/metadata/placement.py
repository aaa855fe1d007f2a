"""Where the replicas of new partitions go, and whether a given placement is sound.

Called by the controller alone. A failure is returned as its text: the controller knows which error
code belongs to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from random import Random

    from mockbroker.metadata.brokers import BrokerInfo


def place_replicas(
    brokers: Mapping[int, BrokerInfo], count: int, replication_factor: int, rng: Random
) -> list[list[int]] | str:
    """Replicas for `count` partitions, the preferred leader first; or why there are none.

    Leaders go round the unfenced brokers from a random one, followers come after their leader,
    fenced brokers last (Kafka: StripedReplicaPlacer, racks aside).
    """
    alive = [node_id for node_id, broker in sorted(brokers.items()) if not broker.fenced]
    fenced = [node_id for node_id, broker in sorted(brokers.items()) if broker.fenced]
    if not alive:
        return "All brokers are currently fenced."
    if replication_factor > len(brokers):
        return (
            f"The target replication factor of {replication_factor} cannot be reached because "
            f"only {len(brokers)} broker(s) are registered or some brokers have all their log "
            "directories cordoned."
        )
    if len(alive) == 1 and replication_factor == 1:
        return [alive] * count
    start = rng.randrange(len(alive))
    placements: list[list[int]] = []
    for index in range(count):
        turn = (start + index) % len(alive)
        order = alive[turn:] + alive[:turn] + fenced
        placements.append(order[:replication_factor])
    return placements


def invalid_assignment(
    brokers: Mapping[int, BrokerInfo], replicas: Sequence[int], replication_factor: int | None
) -> str | None:
    """Why a manual assignment of one partition is refused; None when it is sound.

    Kafka: ReplicationControlManager.validateManualPartitionAssignment.
    """
    if not replicas:
        return "The manual partition assignment includes an empty replica list."
    previous = None
    for node_id in sorted(replicas):
        if node_id not in brokers:
            return (
                f"The manual partition assignment includes broker {node_id}, but no such broker "
                "is registered."
            )
        if node_id == previous:
            return f"The manual partition assignment includes the broker {node_id} more than once."
        previous = node_id
    if replication_factor is not None and len(replicas) != replication_factor:
        return (
            f"The manual partition assignment includes a partition with {len(replicas)} "
            "replica(s), but this is not consistent with previous partitions, which have "
            f"{replication_factor} replica(s)."
        )
    return None
