"""What a test or a simulation does to the brokers of a cluster and to the links between them.

`controls.ClusterControls` adds what is done to partitions, and says how a call is made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.cluster.links.link import CONTROLLER

if TYPE_CHECKING:
    from mockbroker.cluster.interconnect import Interconnect
    from mockbroker.cluster.links.link import Link
    from mockbroker.cluster.nodes import Node, PeerIncarnation
    from mockbroker.cluster.peers import Peers

LOSSES: Final = "nothing", "unflushed"
"""What of its logs a broker may lose that is killed."""


class ControlError(ValueError):
    """A control that cannot be carried out, and why."""


class NodeControls:
    """Verbs on the nodes of one cluster; `peers` is None with one broker."""

    def __init__(self, interconnect: Interconnect, peers: Peers | None) -> None:
        self._interconnect = interconnect
        self._several = peers

    # -- brokers -----------------------------------------------------------------------------

    def kill(self, node_id: int, *, fence: bool = True, lose: str = "nothing") -> None:
        """Crash a broker: its connections break, its memory is gone, its logs stay.

        With `fence` False the controller learns of it by broker.session.timeout.ms only, and what
        the broker led has no working leader until then. With `lose` "unflushed" the machine goes
        down with it: of each log only what was flushed stays (`log.recovery`).
        """
        if lose not in LOSSES:
            raise ControlError(f"lose: {lose!r} is none of {', '.join(LOSSES)}")
        self._peers().kill(self._running(node_id), fence=fence, lose_unflushed=lose == "unflushed")

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
        moved_ms, node.skew_ms = by_ms - node.skew_ms, by_ms
        if node.incarnation is not None:
            node.incarnation.clock.epoch_ms = self._interconnect.clock.epoch_ms + by_ms
            node.incarnation.broker.services.replicas.upkeep.wall_moved(moved_ms)

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
