"""What a test or a simulation does to a cluster: brokers, leaders, followers, links.

`Cluster.controls` gives it; `MockBroker.cluster` carries each call into the broker's loop. A call
is part of a step: what it causes arrives with the next drain. Nodes go by their ids, a link by its
two ends, of which `CONTROLLER` may be one. `ControlError` says what is wrong with a call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.cluster.links.link import CONTROLLER
from mockbroker.metadata.names import GROUP_METADATA_TOPIC

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mockbroker.cluster.interconnect import Interconnect
    from mockbroker.cluster.links.link import Link
    from mockbroker.cluster.nodes import Node
    from mockbroker.cluster.peers import PeerIncarnation, Peers
    from mockbroker.log.unified_log import UnifiedLog
    from mockbroker.metadata.changes import PartitionState
    from mockbroker.metadata.controller import Controller
    from mockbroker.metadata.store import MetadataStore
    from mockbroker.replica.partition import Partition


class ControlError(ValueError):
    """A control that cannot be carried out, and why."""


class ClusterControls:
    """Verbs on one cluster, which hands in its rooms; `peers` is None with one broker."""

    def __init__(
        self,
        metadata: MetadataStore,
        controller: Controller,
        interconnect: Interconnect,
        peers: Peers | None,
    ) -> None:
        self._metadata = metadata
        self._controller = controller
        self._interconnect = interconnect
        self._several = peers

    # -- brokers -----------------------------------------------------------------------------

    def kill(self, node_id: int, *, fence: bool = True) -> None:
        """Crash a broker: its connections break, its memory is gone, its logs stay.

        With `fence` False the controller learns of it by broker.session.timeout.ms only, and what
        the broker led has no working leader until then.
        """
        self._peers().take_down(self._running(node_id), fence=fence)

    def stop(self, node_id: int) -> None:
        """Stop a broker cleanly: its leaders move first, and who waits is answered."""
        self._peers().stop(self._running(node_id))

    def revive(self, node_id: int) -> None:
        """Start a broker that was killed or stopped, with the logs that it had."""
        node = self._node(node_id)
        if node.incarnation is not None:
            raise ControlError(f"broker {node_id} is running")
        self._peers().bring_back(node)

    def fence(self, node_id: int) -> None:
        """Let the controller take a running broker for lost until `unfence`."""
        self._running(node_id)
        self._peers().sessions.keep_out(node_id)

    def unfence(self, node_id: int) -> None:
        """Let the controller know again of a broker that `fence` kept out."""
        incarnation = self._incarnation(node_id)
        self._peers().sessions.let_in(node_id)
        incarnation.heartbeat.beat()

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

    def elect_unclean(self, topic: str, partition: int) -> None:
        """Let the first live replica lead a partition without leader; what it lacks is lost."""
        from mockbroker.metadata.elections import Election

        refusal = self._peers().control.elect(topic, partition, Election.UNCLEAN)
        self._refuse(refusal.message if refusal.error else None)

    def coordinator(self, group_id: str) -> int:
        """Who coordinates a group; -1: nobody does."""
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
        self._leader(topic, partition).high_watermark_held = True

    def release_high_watermark(self, topic: str, partition: int) -> None:
        """Let it go where it belongs."""
        leader = self._leader(topic, partition)
        leader.high_watermark_held = False
        leader.raise_high_watermark()

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

    # -- links ---------------------------------------------------------------------------------

    def cut_link(self, source: int, target: int) -> None:
        """Lose what `source` sends to `target` until `restore_link`; the way back still works."""
        self._link(source, target).sever()

    def hold_link(self, source: int, target: int) -> None:
        """Let what `source` sends to `target` wait until `restore_link`."""
        self._link(source, target).hold()

    def slow_link(self, source: int, target: int, delay_ms: float) -> None:
        """Let what `source` sends take so long to `target`."""
        if not delay_ms >= 0:
            raise ControlError(f"delay_ms: {delay_ms} is negative")
        self._link(source, target).slow(delay_ms)

    def restore_link(self, source: int, target: int) -> None:
        """Let the link work again, at once; connections that lost bytes begin anew."""
        self._interconnect.restore(self._link(source, target))

    def isolate(self, node_id: int) -> None:
        """Cut a broker off from all others and from the controller, both ways."""
        for source, target in self._links_of(node_id):
            self.cut_link(source, target)

    def reconnect(self, node_id: int) -> None:
        """Undo `isolate`."""
        for source, target in self._links_of(node_id):
            self.restore_link(source, target)

    def skew_clock(self, node_id: int, by_ms: int) -> None:
        """Put a broker's wall clock so much ahead of the cluster's; negative: behind."""
        node = self._node(node_id)
        node.skew_ms = by_ms
        if node.incarnation is not None:
            node.incarnation.clock.epoch_ms = self._interconnect.clock.epoch_ms + by_ms

    # -- finding -----------------------------------------------------------------------------

    def _peers(self) -> Peers:
        if self._several is None:
            raise ControlError(
                "there is one broker only: start more, with brokers=3 or --brokers 3"
            )
        return self._several

    def _node(self, node_id: int) -> Node:
        nodes = self._peers().nodes
        node = self._interconnect.node(node_id)
        if node is None:
            known = ", ".join(str(each.node_id) for each in nodes)
            raise ControlError(f"there is no broker {node_id!r}; there are {known}")
        return node

    def _running(self, node_id: int) -> Node:
        node = self._node(node_id)
        if node.incarnation is None:
            raise ControlError(f"broker {node_id} is down")
        return node

    def _incarnation(self, node_id: int) -> PeerIncarnation:
        return self._peers().running[self._running(node_id).node_id]

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

    def _leader(self, topic: str, index: int) -> Partition:
        node = self._interconnect.node(self.partition_state(topic, index).leader)
        broker = None if node is None else node.broker
        found = None if broker is None else broker.services.replicas.partition(topic, index)
        if found is None:
            raise ControlError(f"{topic}-{index} has no leader")
        return found

    def _link(self, source: int, target: int) -> Link:
        for end in (source, target):
            if end != CONTROLLER:
                self._node(end)
        if source == target:
            raise ControlError(f"a link has two ends, not {source} twice")
        return self._peers().links.get(source, target)

    def _links_of(self, node_id: int) -> list[tuple[int, int]]:
        nodes = self._interconnect.nodes
        others = [each.node_id for each in nodes if each is not self._node(node_id)]
        others.append(CONTROLLER)
        return [pair for other in others for pair in ((node_id, other), (other, node_id))]

    @staticmethod
    def _refuse(reason: str | None) -> None:
        if reason is not None:
            raise ControlError(reason)
