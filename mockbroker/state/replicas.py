"""Each broker's log of a partition, side by side, and the links between brokers that have faults.

The admin API asks. What is told is what is stored, whether a broker is up or not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from mockbroker.cluster.cluster import Cluster


class ReplicaLog(NamedTuple):
    """One broker's log of a partition; offsets are None where nothing was stored.

    `epochs` are leader epochs with their first offsets. `follower_held` and `high_watermark_held`
    tell what a test holds.
    """

    node_id: int
    running: bool
    is_leader: bool
    in_sync: bool
    log_start_offset: int | None
    high_watermark: int | None
    log_end_offset: int | None
    size_bytes: int | None
    epochs: list[tuple[int, int]]
    follower_held: bool
    high_watermark_held: bool


class LinkState(NamedTuple):
    """A link with faults; the controller is -1."""

    source: int
    target: int
    cut: bool
    held: bool
    delay_ms: float


def replica_logs(cluster: Cluster, topic: str, partition: int) -> list[ReplicaLog]:
    """The log of each replica. Raises ControlError without such a partition."""
    state = cluster.controls.partition_state(topic, partition)
    running = {broker.services.broker_id: broker for broker in cluster.brokers}
    several = len(cluster.metadata.brokers) > 1
    found: list[ReplicaLog] = []
    for node_id in dict.fromkeys((*state.replicas, *state.adding)):
        broker = running.get(node_id)
        hosted = None if broker is None else broker.services.replicas.partition(topic, partition)
        log = hosted.log if hosted is not None else None
        if log is None and several:
            log = cluster.controls.log(topic, partition, node_id)
        incarnation = cluster.peers.running.get(node_id) if cluster.peers is not None else None
        held = incarnation is not None and (topic, partition) in incarnation.fetchers.held
        found.append(
            ReplicaLog(
                node_id,
                broker is not None,
                node_id == state.leader,
                node_id in state.isr,
                None if log is None else log.log_start_offset,
                None if log is None else log.high_watermark,
                None if log is None else log.log_end_offset,
                None if log is None else log.size_bytes,
                [] if log is None else log.leader_epochs(),
                held,
                hosted is not None and hosted.high_watermark_held,
            )
        )
    return found


def faulty_links(cluster: Cluster) -> list[LinkState]:
    """The links that do not carry everything at once, by their ends."""
    if cluster.peers is None:
        return []
    return [
        LinkState(source, target, faults.cut, faults.held, faults.delay_ms)
        for (source, target), faults in sorted(cluster.peers.links.faulty().items())
    ]
