"""What several brokers are at one moment, to be compared with another way to the same moment."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mockbroker.clock import Timer, TimerTask
    from mockbroker.cluster.cluster import Cluster
    from mockbroker.cluster.nodes import PeerIncarnation
    from mockbroker.replica.partition import Partition


def picture(cluster: Cluster) -> dict[str, object]:
    """All that a later step could depend on: what is known, stored and due."""
    peers, metadata = cluster.peers, cluster.metadata
    assert peers is not None
    alarm = peers.sessions.alarm
    seen: dict[str, object] = {
        "now": cluster.clock.now_ms,
        "version": metadata.version,
        "brokers": dict(metadata.brokers),
        "topics": {topic.name: list(topic.partitions) for topic in metadata.topics.values()},
        "sessions": dict(peers.sessions._heard_ms),
        "deadlines": _pending(cluster.timer, [alarm] if alarm is not None else []),
    }
    for node_id, incarnation in sorted(peers.running.items()):
        seen[f"{node_id} deadlines"] = _pending(incarnation.timer, _watches(incarnation))
        for partition in incarnation.broker.services.replicas.all_partitions():
            seen[f"{node_id} {partition.topic}-{partition.index}"] = _replica(partition)
    return seen


def _replica(partition: Partition) -> tuple[object, ...]:
    log, followers = partition.log, partition.followers
    return (
        log and (log.log_start_offset, log.log_end_offset, log.high_watermark),
        followers and (followers.state, followers.proposed),
        followers
        and [
            (each.log_end_offset, each.reader and each.reader.polled_ms())
            for each in followers.all()
        ],
    )


def _watches(incarnation: PeerIncarnation) -> list[TimerTask]:
    """What would end a request to another broker that takes too long.

    It is armed early enough, and looks anew when it runs: when that is tells nothing.
    """
    fetchers = incarnation.fetchers._by_leader.values()
    clients = [*incarnation.channels.values(), *(each.channel for each in fetchers)]
    alarms = [getattr(client, "alarm", None) for client in clients]
    return [alarm for alarm in alarms if alarm is not None]


def _pending(timer: Timer, beside: Sequence[TimerTask]) -> list[int]:
    buckets = timer._buckets
    return sorted(
        tick_ms for tick_ms, bucket in buckets.items() for task in bucket if task not in beside
    )
