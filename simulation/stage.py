"""The stage of a simulation: one heap of events, virtual time, wires, and what is told of it all.

`World` puts brokers on it. Actors schedule actions with `at` and talk
through `Wire`s; `run_for` and `run_until` let time pass. Events run in the order (time, age), the
timers of what is simulated are asked between them as the shell would, and nothing here reads a
clock or makes a random number that the seed did not give.

A wire carries bytes both ways, in order, each piece after its delay, cut into pieces anywhere.
`cut` loses what is on its way in both directions; the broker hears of it later than the client.

Invariants: time never goes back; bytes of one direction never overtake each other; after a wire
was cut or closed, neither end hears anything more from it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Protocol

from mockbroker.journal import HandlerFailed, RequestRefused
from simulation.trace import Trace

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from mockbroker.journal import Event
    from simulation.faults import NetworkFaults

EPOCH_MS = 1_700_000_000_000
ENOUGH_VIOLATIONS = 20
PROBE = 0
"""The connection of those who ask past the network: wires are counted from 1."""


class Endpoint(Protocol):
    """The client's end of a wire."""

    def data_received(self, data: bytes) -> None:
        """The next bytes from the broker."""

    def connection_lost(self) -> None:
        """The wire is gone; called once, and not when this end closed it."""


class Observer:
    """Watches the broker's end of all wires; a subclass does something about what it is told."""

    def bytes_arrived(self, wire: Wire, count: int) -> None:
        """The broker is about to be given so many bytes."""

    def bytes_emitted(self, wire: Wire, data: bytes) -> None:
        """The broker wants these written."""

    def hung_up(self, wire: Wire) -> None:
        """The broker was told that the connection is gone."""


class Wire:
    """One connection: the broker wrote `emitted_bytes`, the client has read `read_bytes`."""

    __slots__ = (
        "_down_free_ms",
        "_endpoint",
        "_lost",
        "_up_free_ms",
        "_world",
        "at_broker",
        "emission_by_timer",
        "emission_step",
        "emitted_bytes",
        "id",
        "may_be_closed",
        "node",
        "open",
        "read_bytes",
    )

    def __init__(self, world: Stage, wire_id: int, endpoint: Endpoint, node: int) -> None:
        self._world = world
        self._endpoint = endpoint
        self.id = wire_id
        self.node = node
        """The id of the broker at its other end."""
        self.open = True
        """Whether the client still holds its end."""
        self.at_broker = True
        """Whether the broker knows the connection."""
        self.emitted_bytes = 0
        self.read_bytes = 0
        self.emission_step = -1
        """The world's step in which the broker last wrote to it."""
        self.emission_by_timer = False
        """Whether that step was one of the broker's timer."""
        self._up_free_ms = 0.0
        self._down_free_ms = 0.0
        self._lost = False
        self.may_be_closed = False
        """Whether its client reckons with it that the broker ends it."""

    @property
    def was_cut(self) -> bool:
        """Whether the network failed."""
        return self._lost

    def send(self, data: bytes) -> None:
        """The client writes."""
        assert self.open
        world = self._world
        for piece in world.faults.pieces(data, world.rng):
            self._up_free_ms = world.arrival_ms(self._up_free_ms)
            world.at_time(self._up_free_ms, partial(self._arrive, piece))

    def emit(self, data: bytes) -> None:
        """The broker wrote."""
        world = self._world
        self.emitted_bytes += len(data)
        self.emission_step = world.steps
        self.emission_by_timer = world.on_timer
        for piece in world.faults.pieces(data, world.rng):
            self._down_free_ms = world.arrival_ms(self._down_free_ms)
            world.at_time(self._down_free_ms, partial(self._deliver, piece))

    def close(self) -> None:
        """The client closes: the broker still gets what was sent before, then hears of it."""
        if self.open:
            self.open = False
            self._up_free_ms = self._world.arrival_ms(self._up_free_ms)
            self._world.at_time(self._up_free_ms, self._hang_up)

    def cut(self, heard_after_ms: float) -> None:
        """The network fails: all bytes on their way are lost; the client knows at once."""
        if self.open:
            self.open = False
            self._lost = True
            self._world.note(f"wire {self.id}", "cut")
            self._world.at(heard_after_ms, self._hang_up)
            self._world.at(0, self._endpoint.connection_lost)

    def closed_by_broker(self) -> None:
        """The broker closes after what it wrote."""
        self._hang_up()
        self._down_free_ms = self._world.arrival_ms(self._down_free_ms)
        self._world.at_time(self._down_free_ms, self._lose)

    def _lose(self) -> None:
        if self.open:
            self.open = False
            self._endpoint.connection_lost()

    def _arrive(self, piece: bytes) -> None:
        # A wire that was cut delivers nothing more; one that its client closed still does.
        if self.at_broker and not self._lost:
            self._world.receive(self, piece)

    def _hang_up(self) -> None:
        if self.at_broker:
            self.at_broker = False
            self._world.hang_up(self)

    def _deliver(self, piece: bytes) -> None:
        if self.open:
            self.read_bytes += len(piece)
            self._endpoint.data_received(piece)


class Stage(ABC):
    """Events, time, and the network between clients and what is simulated."""

    def __init__(self, rng: Random, faults: NetworkFaults) -> None:
        self.rng = rng
        self.faults = faults
        self.trace = Trace()
        self.violations: list[str] = []
        self.now_ms = 0.0
        self.steps = 0
        """How often a broker was entered: unchanged means that nothing can have changed."""
        self.on_timer = False
        """Whether the step at hand is one of the brokers' timers."""
        self._events: list[tuple[float, int, Callable[[], object]]] = []
        self._ages = 0

    @abstractmethod
    def next_deadline(self) -> float | None:
        """When `tick` is wanted next."""

    @abstractmethod
    def tick(self) -> None:
        """Run what the timers have due now, and put what comes of it on the wires."""

    def skip_idle(self, until_ms: float) -> None:  # noqa: B027 - a hook for who can
        """Nobody acts until then: rounds in which nothing can change need not be played."""

    @abstractmethod
    def receive(self, wire: Wire, data: bytes) -> None:
        """Bytes of a client reach the broker."""

    @abstractmethod
    def hang_up(self, wire: Wire) -> None:
        """The broker hears that a connection is gone."""

    def hear(self, event: Event) -> None:
        """A listener of the journal: no handler may fail, no client is refused on its wire."""
        if isinstance(event, HandlerFailed):
            self.violate(f"{event.api_name} failed: {event.error!r}")
        elif isinstance(event, RequestRefused) and event.connection_id != PROBE:
            self.violate(f"{event.api_name} was refused: {event.reason}")

    # -- events ----------------------------------------------------------------------------

    def at(self, delay_ms: float, action: Callable[[], object]) -> None:
        """Run `action` after so much time."""
        self.at_time(self.now_ms + delay_ms, action)

    def at_time(self, time_ms: float, action: Callable[[], object]) -> None:
        """Run `action` at that time, after what was scheduled for it before."""
        self._ages += 1
        heappush(self._events, (time_ms, self._ages, action))

    def run_for(self, duration_ms: float) -> None:
        """Let so much time pass."""
        self.run_until(lambda: False, duration_ms)

    def run_until(self, reached: Callable[[], bool], limit_ms: float) -> bool:
        """Let time pass until `reached`, asked after each event; False at the limit.

        A run with many violations is over: time passes, but nothing happens any more.
        """
        end_ms = self.now_ms + limit_ms
        while not reached():
            if len(self.violations) > ENOUGH_VIOLATIONS or not self._run_next(end_ms):
                self.now_ms = end_ms
                return reached()
        return True

    def _run_next(self, end_ms: float) -> bool:
        """Run the earliest event; False when none is due by `end_ms`."""
        events = self._events
        self.skip_idle(min(end_ms, events[0][0]) if events else end_ms)
        deadline_ms = self.next_deadline()
        event_ms = events[0][0] if events else None
        if deadline_ms is not None and (event_ms is None or deadline_ms <= event_ms):
            if deadline_ms > end_ms:
                return False
            self.now_ms = max(self.now_ms, deadline_ms)
            self.steps += 1
            self.on_timer = True
            self.tick()
            self.on_timer = False
            return True
        if event_ms is None or event_ms > end_ms:
            return False
        self.now_ms = event_ms
        heappop(events)[2]()
        return True

    # -- the network -----------------------------------------------------------------------

    def arrival_ms(self, free_ms: float) -> float:
        """When a piece sent now arrives on a line that is free from `free_ms` on."""
        return max(free_ms, self.now_ms + self.faults.delay_ms(self.rng))

    # -- what is told ----------------------------------------------------------------------

    def note(self, who: str, what: str) -> None:
        """Keep it in the trace."""
        self.trace.note(self.now_ms, who, what)

    def violate(self, what: str) -> None:
        """A rule was broken: the run has failed."""
        self.note("VIOLATION", what)
        self.violations.append(f"{self.now_ms:.3f} ms: {what}")
