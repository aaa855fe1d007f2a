"""What a test or a simulation does to a cluster: brokers, leaders, followers, links.

`Cluster.controls` gives it; `MockBroker.cluster` carries each call into the broker's loop. A call
is part of a step: what it causes arrives with the next drain. Nodes go by their ids, a link by its
two ends, of which `CONTROLLER` may be one. `ControlError` says what is wrong with a call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.cluster.node_controls import ControlError, NodeControls
from mockbroker.metadata.names import GROUP_METADATA_TOPIC

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mockbroker.cluster.interconnect import Interconnect
    from mockbroker.cluster.peers import Peers
    from mockbroker.log.unified_log import UnifiedLog
    from mockbroker.metadata.changes import PartitionState
    from mockbroker.metadata.controller import Controller
    from mockbroker.metadata.elections import Election
    from mockbroker.metadata.store import MetadataStore
    from mockbroker.replica.manager import ReplicaManager
    from mockbroker.replica.partition import Partition


class ClusterControls(NodeControls):
    """Verbs on one cluster, which hands in its rooms: those on its partitions, and on its nodes."""

    def __init__(
        self,
        metadata: MetadataStore,
        controller: Controller,
        interconnect: Interconnect,
        peers: Peers | None,
    ) -> None:
        super().__init__(interconnect, peers)
        self._metadata = metadata
        self._controller = controller

    # -- partitions --------------------------------------------------------------------------

    def move_leader(self, topic: str, partition: int, to: int) -> None:
        """Make an in-sync replica the leader, in a new leader epoch."""
        self._refuse(self._peers().control.move_leader(topic, partition, to))

    def shrink_isr(self, topic: str, partition: int, without: int) -> None:
        """Take a follower out of the in-sync set. It returns with its next fetch unless held."""
        self._refuse(self._peers().control.shrink_isr(topic, partition, without))

    def reassign(self, topic: str, partition: int, replicas: Sequence[int]) -> None:
        """Put the replicas elsewhere; those to remove go once those to add are in sync."""
        refusal = self._peers().control.reassign(topic, partition, replicas)
        self._refuse(refusal.message if refusal.error else None)

    def elect_preferred(self, topic: str, partition: int) -> None:
        """Let the first of the replicas lead again; it must be in sync."""
        from mockbroker.metadata.elections import Election

        self._elect(topic, partition, Election.PREFERRED)

    def elect_unclean(self, topic: str, partition: int) -> None:
        """Let the first live replica lead a partition without leader; what it lacks is lost."""
        from mockbroker.metadata.elections import Election

        self._elect(topic, partition, Election.UNCLEAN)

    def coordinator(self, group_id: str) -> int:
        """Which broker coordinates a group; -1: none does."""
        return self.partition_state(*self._coordinating(group_id)).leader

    def move_coordinator(self, group_id: str, to: int) -> None:
        """Make another broker coordinate a group; it takes over from what was replicated."""
        self.move_leader(*self._coordinating(group_id), to)

    def hold_follower(self, topic: str, partition: int, node_id: int) -> None:
        """Let a follower fetch no more of a partition."""
        self._incarnation(node_id).fetchers.hold(self._replica(topic, partition, node_id))

    def release_follower(self, topic: str, partition: int, node_id: int) -> None:
        """Let it fetch again."""
        self._incarnation(node_id).fetchers.release(self._replica(topic, partition, node_id))

    def hold_high_watermark(self, topic: str, partition: int) -> None:
        """Let a partition's high watermark stand still, on whichever node leads it now."""
        replicas, leader = self._leader(topic, partition)
        replicas.hold_high_watermark(leader)

    def release_high_watermark(self, topic: str, partition: int) -> None:
        """Let it go where it belongs."""
        replicas, leader = self._leader(topic, partition)
        replicas.release_high_watermark(leader)

    def tell_high_watermark(self, tell: bool) -> None:
        """Whether followers tell the high watermark that they know (Fetch v18) or do not (v17)."""
        peers = self._peers()
        peers.tells_high_watermark = tell
        for incarnation in peers.running.values():
            incarnation.fetchers.pin_version(tell_high_watermark=tell)

    def partition_state(self, topic: str, partition: int) -> PartitionState:
        """Leader, replicas and in-sync set, as the controller has them."""
        known = self._metadata.topics.get(topic)
        if known is None or not 0 <= partition < len(known.partitions):
            raise ControlError(f"there is no partition {topic}-{partition}")
        return known.partitions[partition]

    def log(self, topic: str, partition: int, node_id: int) -> UnifiedLog | None:
        """What a broker, up or down, has stored of a partition; None: nothing."""
        node = self._node(node_id)
        known = self._metadata.topics.get(topic)
        if known is None or node.broker is None:
            return None if known is None else node.logs.get((known.id, partition))
        found = node.broker.services.replicas.partition(topic, partition)
        return None if found is None else found.log

    # -- finding -----------------------------------------------------------------------------

    def _replica(self, topic: str, index: int, node_id: int) -> Partition:
        found = self._incarnation(node_id).broker.services.replicas.partition(topic, index)
        if found is None:
            raise ControlError(f"broker {node_id} has no replica of {topic}-{index}")
        return found

    def _coordinating(self, group_id: str) -> tuple[str, int]:
        """The partition whose leader coordinates a group; its topic is made if need be."""
        from mockbroker.coordinator.runtime import partition_for

        self._controller.ensure_internal_topic(GROUP_METADATA_TOPIC)
        count = len(self._metadata.topics[GROUP_METADATA_TOPIC].partitions)
        return GROUP_METADATA_TOPIC, partition_for(group_id, count)

    def _leader(self, topic: str, index: int) -> tuple[ReplicaManager, Partition]:
        node = self._interconnect.node(self.partition_state(topic, index).leader)
        if node is not None and node.broker is not None:
            replicas = node.broker.services.replicas
            found = replicas.partition(topic, index)
            if found is not None:
                return replicas, found
        raise ControlError(f"{topic}-{index} has no leader")

    def _elect(self, topic: str, partition: int, election: Election) -> None:
        refusal = self._peers().control.elect(topic, partition, election)
        self._refuse(refusal.message if refusal.error else None)

    @staticmethod
    def _refuse(reason: str | None) -> None:
        if reason is not None:
            raise ControlError(reason)
