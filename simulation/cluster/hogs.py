"""Clients that fill what a simulated broker has for requests, so that others are not read.

Where a seed draws "memory" that is bounded (`queued.max.request.bytes`). A hog sends the first half
of a large request, and the rest later: its frame is charged from its beginning on. Each must be
answered in the end, whoever waited for whom, and when all is at rest nothing is left of any.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.node.metered_broker import MeteredBroker
from mockbroker_protocol.api_keys import ApiKey
from simulation.clients import frame_of
from simulation.cluster.clients import ClusterClient
from simulation.cluster.crews import Crew
from simulation.cluster.filled_requests import Subject, filled

if TYPE_CHECKING:
    from random import Random

    from simulation.cluster.crews import CrewSetting
    from simulation.cluster.plan import ClusterPlan
    from simulation.cluster.truth import Truth
    from simulation.cluster.world import ClusterWorld
    from simulation.stage import Wire

HOGS = 3
NAMES = 3_000
ROUND_MS = 1_500.0
"""All ask the same broker at the same time, and then the next."""
REST_MS = 60.0
PATIENCE_MS = 3_000.0
ASKED: Final = (ApiKey.METADATA, ApiKey.DESCRIBE_GROUPS, ApiKey.DELETE_RECORDS)
VERSION: Final = 2


class Hog(ClusterClient):
    """Sends one large request after another, each by a connection of its own."""

    def __init__(
        self, world: ClusterWorld, name: str, rng: Random, truth: Truth, plan: ClusterPlan
    ) -> None:
        super().__init__(world, name, rng, truth, plan.topics)
        self.answers = 0
        self._wire: Wire | None = None
        self._data = b""

    def begin(self) -> None:
        world = self.world
        node = world.nodes[int(world.now_ms / ROUND_MS) % len(world.nodes)]
        broker = world.cluster.broker(node)
        if broker is None:
            self._rest()
            return
        request = filled(self.rng.choice(ASKED), VERSION, Subject(self.name, NAMES))
        frame = frame_of(request, VERSION, 1, self.name)
        wire = self._wire = self.world.wire_to(broker, self)
        self._data = b""
        half = self.rng.randrange(4, len(frame))
        wire.send(frame[:half])
        self.world.at(self.rng.random() * REST_MS, lambda: self._send_rest(wire, frame[half:]))
        self._wait(wire, node, self.world.now_ms + PATIENCE_MS)

    def _send_rest(self, wire: Wire, rest: bytes) -> None:
        if wire.open:
            wire.send(rest)

    def data_received(self, data: bytes) -> None:
        """The next bytes of the answer."""
        self._data += data

    def connection_lost(self) -> None:
        """The network failed, or the broker is down."""

    def _wait(self, wire: Wire, node: int, until_ms: float) -> None:
        whole = len(self._data) >= 4 + int.from_bytes(self._data[:4] or b"\xff", "big")
        if wire.open and not whole and self.world.now_ms < until_ms:
            self.world.at(10.0, lambda: self._wait(wire, node, until_ms))
            return
        if whole:
            self.answers += 1
        elif wire.open:
            self.world.violate(f"{self.name}: broker {node} does not answer a large request")
        self.note(f"{len(self._data)} bytes from {node}")
        wire.close()
        self._rest()

    def _rest(self) -> None:
        self.later(ROUND_MS - self.world.now_ms % ROUND_MS)


class HogCrew(Crew):
    """Some of them, where a seed draws "memory"."""

    def __init__(self, setting: CrewSetting) -> None:
        super().__init__(setting)
        self.hogs = setting.hire(Hog, "hog", HOGS * int(self.plan.on["memory"]))
        self.clients = [*self.hogs]

    def counts(self) -> dict[str, int]:
        return {"large requests": sum(each.answers for each in self.hogs)}

    def check(self) -> None:
        """Only what is being worked on is charged."""
        for broker in self.world.cluster.brokers:
            if not isinstance(broker, MeteredBroker):
                continue
            busy = any(conn.in_work is not None for conn in broker.connections())
            left = broker.pool.size - broker.pool.available
            if left and not busy:
                self.world.violate(f"broker {broker.broker_id} keeps {left} bytes of requests")
            metrics = broker.metrics()
            used = metrics["kafka.network:type=SocketServer,name=MemoryPoolUsed"]
            if used != left:
                self.world.violate(f"broker {broker.broker_id} tells of {used} bytes, not {left}")
