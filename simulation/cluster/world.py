"""The simulated cluster: a world of several brokers, their links, and brokers that go down."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from mockbroker.cluster.nodes import LISTENER, NodeWatcher
from simulation.world import World

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from random import Random

    from mockbroker.cluster.controls import ClusterControls
    from mockbroker.cluster.peers import Peers
    from simulation.faults import NetworkFaults
    from simulation.stage import Endpoint, Wire

MESSAGES_A_STEP = 20_000
"""More than that between brokers without time passing is a circle that never ends."""


class EndlessStepError(AssertionError):
    """Brokers answer each other for ever."""


class Arrivals(deque["Callable[[], None]"]):
    """What arrives at brokers, counted: `left` more messages may come in this step."""

    left = MESSAGES_A_STEP

    def popleft(self) -> Callable[[], None]:
        self.left -= 1
        if self.left < 0:
            raise EndlessStepError(f"more than {MESSAGES_A_STEP} messages in one step")
        return super().popleft()


class WireCutter(NodeWatcher):
    """Breaks the wires of a broker that goes down."""

    __slots__ = ("_node", "_world")

    def __init__(self, world: ClusterWorld, node: int) -> None:
        self._world = world
        self._node = node

    def down(self) -> None:
        self._world.node_down(self._node)

    def leaving(self) -> None:
        for tell in self._world.on_leaving:
            tell(self._node)

    def up(self) -> None:
        for tell in self._world.on_up:
            tell()


class ClusterWorld(World):
    """Brokers 1 to `brokers` on the stage."""

    def __init__(
        self,
        config: Mapping[str, str],
        *,
        brokers: int,
        racks: Sequence[str | None] = (),
        substream: Callable[[str], Random],
        faults: NetworkFaults,
    ) -> None:
        super().__init__(
            config, {}, substream=substream, faults=faults, brokers=brokers, racks=racks
        )
        assert self.cluster.peers is not None
        self.peers: Peers = self.cluster.peers
        self.on_answer: list[Callable[[str, Wire, object, object], None]] = []
        """Told of each answer that a client takes: who, on which wire, to what."""
        self.on_up: list[Callable[[], None]] = []
        """Told of each broker that is back, before it does anything."""
        self.on_leaving: list[Callable[[int], None]] = []
        """Told of each broker that is stopped cleanly, right before it is gone."""
        self.controls: ClusterControls = self.cluster.controls
        self._arrivals = self.peers.links.arrived = Arrivals()
        for node in self.cluster.nodes:
            node.watcher = WireCutter(self, node.node_id)

    @property
    def nodes(self) -> list[int]:
        """All brokers' ids, up or down."""
        return [node.node_id for node in self.cluster.nodes]

    def connect_to(self, endpoint: Endpoint, node: int, listener: str = LISTENER) -> Wire | None:
        """Open a connection to a broker or the controller; None while it is down."""
        broker = self.core(node)
        return None if broker is None else self.wire_to(broker, endpoint, listener)

    def node_down(self, node: int) -> None:
        """The connections of a broker break."""
        for wire in self.wires():
            if wire.node == node:
                wire.cut(0.0)

    def carry_out(self, *, settled: bool = False) -> None:
        self._arrivals.left = MESSAGES_A_STEP
        super().carry_out(settled=settled)
