"""The controller's duties, checked after each step of the simulated cluster.

- Who is not heard of is fenced: a broker that is down, or whose link to the controller does not
  carry, is fenced when its session and the slowest message that may be on its way are over.
- Whom an operator keeps out is fenced, whatever it says.
- No fenced broker leads or is in sync, but as the last that was; a partition with a live replica
  in sync has a leader.
- Each start of a broker is a registration with an epoch of its own (KIP-903).

The first is looked at whenever time has passed, the others when the controller's store changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.cluster.links.link import CONTROLLER
from simulation.cluster.plan import DELAYS_MS, SESSION_TIMEOUT_MS

if TYPE_CHECKING:
    from simulation.cluster.world import ClusterWorld

FENCED_WITHIN_MS = SESSION_TIMEOUT_MS + max(DELAYS_MS) + 10.0


class Supervision:
    """Watches a world's controller; broken rules go to `world.violate`."""

    def __init__(self, world: ClusterWorld) -> None:
        self._world = world
        self._silent_since_ms: dict[int, float] = {}
        self._version = -1
        self._epochs: dict[int, tuple[int, int]] = {}
        """By broker: how often it has started, and its epoch then."""
        self.fencings = 0
        """How many silent brokers were found fenced in time."""
        world.on_step.append(self.look)

    def look(self) -> None:
        """The controller's store, as it is now."""
        world = self._world
        for node in world.cluster.nodes:
            link = world.peers.links.get(node.node_id, CONTROLLER)
            if node.broker is not None and link.open:
                self._silent_since_ms.pop(node.node_id, None)
            else:
                self._check_silent(node.node_id)
        version = world.cluster.metadata.version
        if version != self._version:
            self._version = version
            self._check_leaders()
            self._check_epochs()

    def _check_silent(self, node: int) -> None:
        world = self._world
        since_ms = self._silent_since_ms.setdefault(node, world.now_ms)
        if world.now_ms - since_ms <= FENCED_WITHIN_MS:
            return
        self._silent_since_ms[node] = float("inf")
        if world.cluster.metadata.brokers[node].fenced:
            self.fencings += 1
        else:
            world.violate(f"broker {node} is silent since {since_ms:.0f} ms and not fenced")

    def _check_epochs(self) -> None:
        world = self._world
        for node in world.cluster.nodes:
            if node.broker is None:
                continue
            epoch = world.cluster.metadata.brokers[node.node_id].epoch
            starts, before = self._epochs.get(node.node_id, (node.incarnations, epoch - 1))
            if starts != node.incarnations and epoch <= before:
                world.violate(f"broker {node.node_id} starts again with epoch {before}")
            self._epochs[node.node_id] = node.incarnations, epoch

    def _check_leaders(self) -> None:
        store = self._world.cluster.metadata
        active = {node for node, broker in store.brokers.items() if broker.active}
        for node in self._world.peers.sessions.kept_out:
            if not store.brokers[node].fenced:
                self._world.violate(f"broker {node} is kept out, and not fenced")
        for topic in store.topics.values():
            for index, state in enumerate(topic.partitions):
                fenced = [node for node in state.isr if store.brokers[node].fenced]
                if fenced and len(state.isr) > 1:
                    self._world.violate(f"{topic.name}-{index}: {fenced} are in sync and fenced")
                if state.leader >= 0:
                    if store.brokers[state.leader].fenced:
                        self._world.violate(
                            f"{topic.name}-{index}: its leader {state.leader} is fenced"
                        )
                elif not active.isdisjoint(state.isr):
                    self._world.violate(
                        f"{topic.name}-{index}: nobody leads, and {state.isr} are in sync"
                    )
