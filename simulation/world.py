"""The simulated world: the brokers of a cluster on the stage, and clients' wires to each of them.

After each step what the brokers sent each other arrives, what they want written goes on the wires,
and whoever watches looks at the brokers (`on_step`): so a rule is checked in every state that a
client could meet. `cluster.world` adds what several brokers have.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from mockbroker.cluster.cluster import Cluster
from mockbroker.cluster.links.link import CONTROLLER
from mockbroker.cluster.nodes import LISTENER
from mockbroker.node.metered_broker import MeteredBroker
from simulation.stage import EPOCH_MS, PROBE, Stage, Wire
from simulation.turns import ALLOWED_MS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from random import Random

    from mockbroker.node.broker import Broker
    from mockbroker.node.outbox import Outgoing
    from simulation.faults import NetworkFaults
    from simulation.stage import Endpoint, Observer
    from simulation.turns import Turns

LENT_BYTES = 1 << 20
CONTROLLER_LISTENER = "CONTROLLER"


class World(Stage):
    """Brokers from 1 on, their clients' network, and time. `broker` is the first of them."""

    def __init__(
        self,
        config: Mapping[str, str],
        topics: Mapping[str, int | None],
        *,
        substream: Callable[[str], Random],
        faults: NetworkFaults,
        brokers: int = 1,
        racks: Sequence[str | None] = (),
    ) -> None:
        super().__init__(substream("network"), faults)
        self.cluster = Cluster(
            config, topics, substream=substream, epoch_ms=EPOCH_MS, brokers=brokers, racks=racks
        )
        self.broker = self.cluster.brokers[0]
        self.skips = False
        """Whether idle rounds among brokers are skipped: nothing may come out otherwise by it."""
        self.turns: Turns | None = None
        """None: each step does all that there is."""
        self._goes_on = False
        self.sliced_step = -1
        """The last step in which a broker went on with a request in slices."""
        self.observers: list[Observer] = []
        self.on_step: list[Callable[[], None]] = []
        self._wires: dict[int, Wire] = {}
        self._wires_made = 0
        self.cluster.journal.listen(self.hear)

    def next_deadline(self) -> float | None:
        return self.cluster.next_deadline()

    def skip_idle(self, until_ms: float) -> None:
        if self.skips:
            self.cluster.skip_idle(until_ms)

    def tick(self) -> None:
        self.cluster.tick(self.now_ms)
        self.carry_out(settled=self.turns is None)

    # -- the network -----------------------------------------------------------------------

    def connect(self, endpoint: Endpoint) -> Wire:
        """Open a connection to the first broker; bytes may be sent at once."""
        return self.wire_to(self.broker, endpoint)

    def wire_to(self, broker: Broker, endpoint: Endpoint, listener: str = LISTENER) -> Wire:
        """Open a connection to a broker that is up."""
        self._wires_made += 1
        wire = Wire(self, self._wires_made, endpoint, broker.broker_id)
        self._wires[wire.id] = wire
        self._open(broker, wire.id, listener)
        return wire

    def _open(self, broker: Broker, connection_id: int, listener: str = LISTENER) -> None:
        address = ("127.0.0.1", 9091 + broker.broker_id)
        broker.connect(
            connection_id,
            "/127.0.0.1",
            self.now_ms,
            local_address=address,
            listener=listener if broker.broker_id != CONTROLLER else CONTROLLER_LISTENER,
        )

    def core(self, node: int) -> Broker | None:
        """A broker, or the controller if it listens; None while it is down."""
        controller = self.cluster.interconnect.controller
        if node == CONTROLLER and controller is not None:
            return controller.broker
        return self.cluster.broker(node)

    def wires(self) -> list[Wire]:
        """The connections that a broker knows."""
        return list(self._wires.values())

    def receive(self, wire: Wire, data: bytes) -> None:
        for observer in self.observers:
            observer.bytes_arrived(wire, len(data))
        broker = self.core(wire.node)
        if broker is not None:
            self.steps += 1
            _hand_over(broker, wire.id, data, self.now_ms)
            self.carry_out()

    def hang_up(self, wire: Wire) -> None:
        del self._wires[wire.id]
        for observer in self.observers:
            observer.hung_up(wire)
        broker = self.core(wire.node)
        if broker is not None:
            self.steps += 1
            broker.disconnect(wire.id, self.now_ms)
            self.carry_out()

    def exchange(self, frame: bytes, broker: Broker | None = None) -> bytes:
        """Give a broker, by default the first, one request on a connection of its own, now.

        Returns its answer's frame. For questions that change nothing: no step is counted, nobody
        observes.
        """
        answers = self.probe(frame, broker or self.broker)
        assert len(answers) == 1, "a probe was not answered at once"
        return answers[0]

    def probe(
        self,
        frame: bytes,
        broker: Broker,
        principal: str | None = None,
        listener: str = "PLAINTEXT",
    ) -> list[bytes]:
        """The same for what is perhaps not answered at once: then there is none.

        It may be several frames. `principal`: who asks; None: whoever connects without a name.
        """
        with self.conversation(broker, principal, listener) as say:
            return say(frame)

    @contextmanager
    def conversation(
        self, broker: Broker, principal: str | None = None, listener: str = "PLAINTEXT"
    ) -> Iterator[Callable[[bytes], list[bytes]]]:
        """A connection past the network for several requests, one after the other, at one time.

        What is yielded takes bytes and gives the frames that come back at once. A broker whose
        memory for requests is full is lent some, and nobody else may have it.
        """
        pool = broker.pool if isinstance(broker, MeteredBroker) else None
        waiting = None
        if pool is not None:
            pool.available += LENT_BYTES
            waiting, pool._waiting = pool._waiting, {}  # noqa: SLF001 -- as the lender
        self.finish_work()
        over, broker.requests.turn_over = broker.requests.turn_over, None
        self._open(broker, PROBE, listener)
        connection = broker.connection(PROBE)
        if principal is not None and connection is not None:
            connection.principal = principal

        def say(data: bytes) -> list[bytes]:
            broker.receive(PROBE, data, self.now_ms)
            while broker.requests.unfinished:  # a step may take so many frames alone
                broker.go_on(self.now_ms, lambda: False)
            written = b"".join(
                chunk
                for outgoing in broker.take_outbox()
                if outgoing.connection_id == PROBE
                for chunk in outgoing.chunks
            )
            return _frames_in(written)

        yield say
        broker.disconnect(PROBE, self.now_ms)
        broker.requests.turn_over = over
        if pool is not None and waiting is not None:
            pool.available -= LENT_BYTES
            pool._waiting = waiting  # noqa: SLF001

    def operate(self, action: Callable[[], object]) -> None:
        """Do something to the cluster that no client can ask for, as one step."""
        self.steps += 1
        self.cluster.set_time(self.now_ms)
        if self.turns is not None:
            self.turns.unlimited = True
        action()
        self.carry_out()

    @property
    def slack_ms(self) -> float:
        """How much later than its time an answer may come, because others had their turns."""
        return 0.0 if self.turns is None else ALLOWED_MS

    @property
    def unfinished(self) -> bool:
        """Whether a broker has left work to a later turn."""
        return any(broker.requests.unfinished for broker in self.cluster.brokers)

    def finish_work(self) -> None:
        """Have all brokers do what they left to later turns, now."""
        while self.turns is not None and self.unfinished:
            self.turns.unlimited = True
            self._go_on()

    def _go_on(self) -> None:
        """Each broker has its next turn, if it wants one."""
        self._goes_on = False
        over = self._over
        for broker in self.cluster.brokers:
            if broker.requests.unfinished:
                self.steps += 1
                broker.go_on(self.now_ms, over)
        self.carry_out()

    def _over(self) -> bool:
        return self.turns is not None and self.turns.over()

    def carry_out(self, *, settled: bool = False) -> None:
        """Let all arrive that the step sent, and put on the wires what is for clients.

        `settled`: all has arrived.
        """
        turns = self.turns
        again = True
        while again:
            again = False
            if settled:
                settled = False
            else:
                self.cluster.drain(self.now_ms)
            cores = self.cluster.cores
            if turns is None or turns.unlimited:
                for broker in cores:
                    if broker.requests.unfinished:
                        self.sliced_step = self.steps
                        broker.go_on(self.now_ms, self._over)
                        again = True  # what it did may have others act
            for broker in cores:
                for outgoing in broker.take_outbox():
                    wire = self._wires.get(outgoing.connection_id)
                    if wire is not None and self._write(wire, outgoing):
                        again = True
        if turns is not None:
            self._give_turns(turns)
        for look in self.on_step:
            look()

    def _give_turns(self, turns: Turns) -> None:
        """The step is over: see that those who have left something go on."""
        turns.unlimited = False
        turns.begin()
        for broker in self.cluster.brokers:
            broker.requests.turn_over = turns.over
        if not self._goes_on and self.unfinished:
            self._goes_on = True
            self.at(turns.pause_ms(), self._go_on)

    def _write(self, wire: Wire, outgoing: Outgoing) -> bool:
        """Put it on the wire as the shell does; True when the broker went on with more."""
        data = b"".join(outgoing.chunks)
        for observer in self.observers:
            observer.bytes_emitted(wire, data)
        if data:
            wire.emit(data)
        if outgoing.close:
            if not wire.may_be_closed:
                self.violate(f"broker {wire.node} closed wire {wire.id}")
            wire.closed_by_broker()
        elif self.faults.loses(self.rng):
            wire.cut(0.0)
        elif outgoing.more:
            broker = self.core(wire.node)
            assert broker is not None
            broker.resume(wire.id, self.now_ms)
            return True
        return False


def _frames_in(data: bytes) -> list[bytes]:
    """Whole frames, of which one may be empty: a token that says nothing."""
    frames, place = [], 0
    while place < len(data):
        start = place + 4
        place = start + int.from_bytes(data[place:start], "big")
        frames.append(data[start:place])
    return frames


def _hand_over(broker: Broker, connection_id: int, data: bytes, now_ms: float) -> None:
    """Bytes of a client, in one of the ways in which shells hand them over: each wire has its own.

    At once; by the buffer that the broker lends; or by that, and worked on when all have arrived.
    """
    way = connection_id % 3
    if way == 0:
        broker.receive(connection_id, data, now_ms)
        return
    while data:
        lent = broker.receive_buffer(connection_id, len(data))
        size = min(len(lent), len(data))
        lent[:size], data = data[:size], data[size:]
        if way == 1:
            broker.received(connection_id, size, now_ms)
        else:
            broker.arrived(connection_id, size)
            broker.run(now_ms)
