"""The simulated cluster: several brokers, their links, and clients' wires to each of them.

After each step what the brokers sent each other arrives, what they want written goes on the wires,
and whoever watches looks at the brokers (`on_step`): so a rule is checked in every state that a
client could meet.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from mockbroker.cluster.cluster import Cluster
from mockbroker.cluster.nodes import NodeWatcher
from simulation.stage import EPOCH_MS, Stage, Wire

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from random import Random

    from mockbroker.cluster.controls import ClusterControls
    from mockbroker.cluster.peers import Peers
    from simulation.faults import NetworkFaults
    from simulation.stage import Endpoint


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


class NodeWire(Wire):
    """A client's connection to one broker."""

    __slots__ = ("node",)

    def __init__(self, world: Stage, wire_id: int, endpoint: Endpoint, node: int) -> None:
        super().__init__(world, wire_id, endpoint)
        self.node = node


class WireCutter(NodeWatcher):
    """Breaks the wires of a broker that goes down."""

    __slots__ = ("_node", "_world")

    def __init__(self, world: ClusterWorld, node: int) -> None:
        self._world = world
        self._node = node

    def down(self) -> None:
        self._world.node_down(self._node)


class ClusterWorld(Stage):
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
        super().__init__(substream("network"), faults)
        self.cluster = Cluster(
            config, {}, substream=substream, epoch_ms=EPOCH_MS, brokers=brokers, racks=racks
        )
        assert self.cluster.peers is not None
        self.peers: Peers = self.cluster.peers
        self.controls: ClusterControls = self.cluster.controls
        self._arrivals = self.peers.links.arrived = Arrivals()
        self.on_step: list[Callable[[], None]] = []
        self._wires: dict[int, NodeWire] = {}
        self._wires_made = 0
        for node in self.cluster.nodes:
            node.watcher = WireCutter(self, node.node_id)
        self.cluster.journal.listen(self.hear)

    @property
    def nodes(self) -> list[int]:
        """All brokers' ids, up or down."""
        return [node.node_id for node in self.cluster.nodes]

    def next_deadline(self) -> float | None:
        return self.cluster.next_deadline()

    def tick(self) -> None:
        self.cluster.tick(self.now_ms)
        self._carry_out()

    # -- the network -----------------------------------------------------------------------

    def connect(self, endpoint: Endpoint, node: int) -> NodeWire | None:
        """Open a connection to a broker; None while it is down."""
        broker = self.cluster.broker(node)
        if broker is None:
            return None
        self._wires_made += 1
        wire = NodeWire(self, self._wires_made, endpoint, node)
        self._wires[wire.id] = wire
        broker.connect(wire.id, "/127.0.0.1", self.now_ms, local_address=("127.0.0.1", 9091 + node))
        return wire

    def wires(self) -> list[NodeWire]:
        """The connections that a broker knows."""
        return list(self._wires.values())

    def receive(self, wire: Wire, data: bytes) -> None:
        assert isinstance(wire, NodeWire)
        broker = self.cluster.broker(wire.node)
        if broker is not None:
            self.steps += 1
            broker.receive(wire.id, data, self.now_ms)
            self._carry_out()

    def hang_up(self, wire: Wire) -> None:
        assert isinstance(wire, NodeWire)
        del self._wires[wire.id]
        broker = self.cluster.broker(wire.node)
        if broker is not None:
            self.steps += 1
            broker.disconnect(wire.id, self.now_ms)
            self._carry_out()

    def operate(self, action: Callable[[], object]) -> None:
        """Do something to the cluster that no client can ask for, as one step."""
        self.steps += 1
        self.cluster.set_time(self.now_ms)
        action()
        self._carry_out()

    def node_down(self, node: int) -> None:
        """The connections of a broker break."""
        for wire in self.wires():
            if wire.node == node:
                wire.cut(0.0)

    def _carry_out(self) -> None:
        """Let all arrive that the step sent, and put on the wires what is for clients."""
        cluster = self.cluster
        self._arrivals.left = MESSAGES_A_STEP
        again = True
        while again:
            again = False
            cluster.drain(self.now_ms)
            for index in range(len(cluster.nodes)):
                for outgoing in cluster.take_outbox(index):
                    wire = self._wires.get(outgoing.connection_id)
                    if wire is None:
                        continue
                    data = b"".join(outgoing.chunks)
                    if data:
                        wire.emit(data)
                    if outgoing.close:
                        self.violate(f"broker {wire.node} closed wire {wire.id}")
                        wire.closed_by_broker()
                    elif outgoing.more:
                        broker = cluster.broker(wire.node)
                        assert broker is not None
                        broker.resume(wire.id, self.now_ms)
                        again = True
        for look in self.on_step:
            look()
