"""What a test may do to the nodes of a cluster, as it stood at one moment, and the way back.

`state.scope` takes one when a scope begins, and goes back in three steps: `bring_up` makes the
cluster whole as far as it was, so that what else is to be restored reaches every broker;
`take_down` takes from it the brokers that were not there; last, `hold_back` stops what stood still.
A broker that was killed and comes back is another incarnation, with a later epoch and without
connections. One that was cut off, and was not in between, has heard of what it had missed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker_protocol.named_tuple import NamedTuple

if TYPE_CHECKING:
    from mockbroker.cluster.cluster import Cluster
    from mockbroker.cluster.nodes import Node, PeerIncarnation
    from mockbroker.cluster.peers import Peers
    from mockbroker.quorum.quorum import MetadataQuorum


class _NodeMark(NamedTuple):
    """One node; the holds are partitions by topic id and index."""

    up: bool
    stopped_cleanly: bool
    fenced: bool
    kept_out: bool
    skew_ms: int
    held_followers: frozenset[tuple[str, int]]
    held_high_watermarks: frozenset[tuple[bytes, int]]


class ClusterMarks:
    """The nodes, links and holds of `cluster` now."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._nodes = [_mark(cluster, node) for node in cluster.nodes]
        peers = cluster.peers
        self._links = {} if peers is None else peers.links.faulty()
        self._tells_high_watermark = peers is None or peers.tells_high_watermark
        quorum = quorum_of(cluster)
        self._commits_held = quorum is not None and quorum.commits_held

    def bring_up(self) -> None:
        """Start what was up, mend what was whole, let go what was not held."""
        cluster = self._cluster
        quorum = quorum_of(cluster)
        if quorum is not None and quorum.commits_held and not self._commits_held:
            quorum.release()
        for node, mark in zip(cluster.nodes, self._nodes, strict=True):
            _release_high_watermarks(node, mark)
        peers = cluster.peers
        if peers is None:
            return
        for ends, now in peers.links.faulty().items():
            if self._links.get(ends) != now:
                cluster.interconnect.restore(peers.links.get(*ends))
        for node, mark in zip(cluster.nodes, self._nodes, strict=True):
            if node.skew_ms != mark.skew_ms:
                cluster.controls.skew_clock(node.node_id, mark.skew_ms)
            if mark.up:
                _bring_up(peers, node, mark)
        if peers.tells_high_watermark != self._tells_high_watermark:
            cluster.controls.tell_high_watermark(self._tells_high_watermark)
        cluster.interconnect.drain()

    def take_down(self) -> None:
        """Stop what was down, fence what was kept out."""
        peers = self._cluster.peers
        if peers is None:
            return
        for node, mark in zip(self._cluster.nodes, self._nodes, strict=True):
            if node.broker is not None and not mark.up:
                peers.take_down(node, fence=mark.fenced)
                node.stopped_cleanly = mark.stopped_cleanly
            if mark.kept_out and node.node_id not in peers.sessions.kept_out:
                peers.sessions.keep_out(node.node_id)
        self._cluster.interconnect.drain()

    def hold_back(self) -> None:
        """Hold what was held, break the links that were broken."""
        quorum = quorum_of(self._cluster)
        if quorum is not None and self._commits_held:
            quorum.hold()
        peers = self._cluster.peers
        for node, mark in zip(self._cluster.nodes, self._nodes, strict=True):
            if peers is not None and node.broker is not None:
                _hold_followers(peers.running[node.node_id], mark)
            _hold_high_watermarks(node, mark)
        if peers is None:
            return
        self._cluster.interconnect.drain()
        faulty = peers.links.faulty()
        for ends, was in self._links.items():
            if faulty.get(ends) != was:
                peers.links.get(*ends).become(was)


def quorum_of(cluster: Cluster) -> MetadataQuorum | None:
    """The metadata quorum, which all brokers share; None without a controller's listener."""
    return None if cluster.peers is None else cluster.peers.quorum


def _mark(cluster: Cluster, node: Node) -> _NodeMark:
    peers = cluster.peers
    broker = node.broker
    info = cluster.metadata.brokers.get(node.node_id)
    held: frozenset[tuple[str, int]] = frozenset()
    if peers is not None and broker is not None:
        held = peers.running[node.node_id].fetchers.held
    return _NodeMark(
        broker is not None,
        node.stopped_cleanly,
        info is None or info.fenced,
        peers is not None and node.node_id in peers.sessions.kept_out,
        node.skew_ms,
        held,
        _held_high_watermarks(node),
    )


def _held_high_watermarks(node: Node) -> frozenset[tuple[bytes, int]]:
    if node.broker is None:
        return frozenset()
    held = node.broker.services.replicas.held_high_watermarks
    return frozenset((partition.topic_id, partition.index) for partition in held)


def _bring_up(peers: Peers, node: Node, mark: _NodeMark) -> None:
    if not mark.kept_out and node.node_id in peers.sessions.kept_out:
        peers.sessions.let_in(node.node_id)
        if node.broker is not None:
            peers.running[node.node_id].heartbeat.beat()
    if node.broker is None:
        node.stopped_cleanly = True  # what it lost comes back too
        peers.bring_back(node)
    elif node.node_id not in peers.store.brokers:
        peers.register_again(node)
    incarnation = peers.running[node.node_id]
    replicas = incarnation.broker.services.replicas
    for topic, index in incarnation.fetchers.held - mark.held_followers:
        partition = replicas.partition(topic, index)
        if partition is not None:
            incarnation.fetchers.release(partition)


def _hold_followers(incarnation: PeerIncarnation, mark: _NodeMark) -> None:
    for topic, index in mark.held_followers - incarnation.fetchers.held:
        partition = incarnation.broker.services.replicas.partition(topic, index)
        if partition is not None:
            incarnation.fetchers.hold(partition)


def _release_high_watermarks(node: Node, mark: _NodeMark) -> None:
    if node.broker is None:
        return
    replicas = node.broker.services.replicas
    for partition in list(replicas.held_high_watermarks):
        if (partition.topic_id, partition.index) not in mark.held_high_watermarks:
            replicas.release_high_watermark(partition)


def _hold_high_watermarks(node: Node, mark: _NodeMark) -> None:
    if node.broker is None:
        return
    replicas = node.broker.services.replicas
    topics = replicas.metadata.topics_by_id
    for topic_id, index in mark.held_high_watermarks - _held_high_watermarks(node):
        topic = topics.get(topic_id)
        partition = None if topic is None else replicas.partition(topic.name, index)
        if partition is not None:
            replicas.hold_high_watermark(partition)
