"""The simulated world of one broker: a cluster of one node on the stage.

Its clients' connections are wires of the stage; what the broker writes goes back over them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.cluster.cluster import Cluster
from simulation.stage import EPOCH_MS, Stage, Wire

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from random import Random

    from simulation.faults import NetworkFaults
    from simulation.stage import Endpoint, Observer

PROBE = 0
"""The connection of `World.exchange`; wires count from 1."""
BROKER_ADDRESS = ("127.0.0.1", 9092)


class World(Stage):
    """A cluster of one node, its clients' network, and time."""

    def __init__(
        self,
        config: Mapping[str, str],
        topics: Mapping[str, int | None],
        *,
        substream: Callable[[str], Random],
        faults: NetworkFaults,
    ) -> None:
        super().__init__(substream("network"), faults)
        self.cluster = Cluster(config, topics, substream=substream, epoch_ms=EPOCH_MS)
        self.broker = self.cluster.brokers[0]
        self.observers: list[Observer] = []
        self._wires: dict[int, Wire] = {}
        self._wires_made = 0
        self.cluster.journal.listen(self.hear)

    def next_deadline(self) -> float | None:
        return self.cluster.next_deadline()

    def tick(self) -> None:
        self.cluster.tick(self.now_ms)
        self._carry_out()

    # -- the network -----------------------------------------------------------------------

    def connect(self, endpoint: Endpoint) -> Wire:
        """Open a connection; bytes may be sent at once."""
        self._wires_made += 1
        wire = Wire(self, self._wires_made, endpoint)
        self._wires[wire.id] = wire
        self.broker.connect(wire.id, "/127.0.0.1", self.now_ms, local_address=BROKER_ADDRESS)
        return wire

    def wires(self) -> list[Wire]:
        """The connections that the broker knows."""
        return list(self._wires.values())

    def receive(self, wire: Wire, data: bytes) -> None:
        for observer in self.observers:
            observer.bytes_arrived(wire, len(data))
        self.steps += 1
        self.broker.receive(wire.id, data, self.now_ms)
        self._carry_out()

    def hang_up(self, wire: Wire) -> None:
        del self._wires[wire.id]
        for observer in self.observers:
            observer.hung_up(wire)
        self.steps += 1
        self.broker.disconnect(wire.id, self.now_ms)
        self._carry_out()

    def exchange(self, frame: bytes) -> bytes:
        """Give the broker one request on a connection of its own, now; its answer's frame.

        For questions that change nothing: no step is counted, nobody observes.
        """
        broker = self.broker
        broker.connect(PROBE, "/127.0.0.1", self.now_ms, local_address=BROKER_ADDRESS)
        broker.receive(PROBE, frame, self.now_ms)
        answers = [
            b"".join(outgoing.chunks)[4:]
            for outgoing in broker.take_outbox()
            if outgoing.connection_id == PROBE
        ]
        broker.disconnect(PROBE, self.now_ms)
        assert len(answers) == 1, "a probe was not answered at once"
        return answers[0]

    def operate(self, action: Callable[[], None]) -> None:
        """Do something to the core that no client can ask for, as one step."""
        self.steps += 1
        self.cluster.set_time(self.now_ms)
        action()
        self.cluster.tick(self.now_ms)
        self._carry_out()

    def _carry_out(self) -> None:
        """Put on the wires what the broker wants written, as the shell does."""
        self.cluster.drain(self.now_ms)
        while outbox := self.cluster.take_outbox(0):
            for outgoing in outbox:
                wire = self._wires.get(outgoing.connection_id)
                if wire is None:
                    continue
                data = b"".join(outgoing.chunks)
                for observer in self.observers:
                    observer.bytes_emitted(wire, data)
                if data:
                    wire.emit(data)
                if outgoing.close:
                    self.violate(f"the broker closed wire {wire.id}")
                    wire.closed_by_broker()
                elif self.faults.loses(self.rng):
                    wire.cut(0.0)
                elif outgoing.more:
                    self.broker.resume(wire.id, self.now_ms)
            self.cluster.drain(self.now_ms)
