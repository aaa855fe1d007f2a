"""One-way links between the nodes of a cluster: what is sent arrives in order, late, or never.

`cluster` owns one `Links` and runs what has arrived; clients of brokers, heartbeats and metadata
go over it. A test or a simulation sets a link's faults, each way on its own.

cut     what is sent is lost, and so is what was on its way
held    what is sent waits until the link is released, as behind a slow network
delay   each message arrives so much later

Invariant: messages of one link never overtake each other.
"""

from __future__ import annotations

from collections import deque
from math import ceil
from typing import TYPE_CHECKING, Final

from mockbroker_protocol.named_tuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker.clock import Clock, Timer

    Deliver = Callable[[], None]

CONTROLLER: Final = -1
"""The controller's end of a link; brokers have their node ids."""


class LinkFaults(NamedTuple):
    """The faults of a link."""

    cut: bool = False
    held: bool = False
    delay_ms: float = 0.0


_NO_FAULTS: Final = LinkFaults()


class Link:
    """From `source` to `target`. Its faults are changed by its methods only."""

    def __init__(self, links: Links, source: int, target: int) -> None:
        self._links = links
        self.source = source
        self.target = target
        self.cut = False
        self.held = False
        self.delay_ms = 0.0
        self._waiting: deque[Deliver] = deque()
        self._in_flight = 0
        self._generation = 0
        self.on_open: list[Deliver] = []
        """Called when the link carries again after it was cut or held."""

    @property
    def open(self) -> bool:
        """Whether what is sent now will arrive unless something happens."""
        return not self.cut and not self.held

    @property
    def steady_delay_ms(self) -> int | None:
        """In how many of the timer's milliseconds each message arrives; None: that may change.

        It does while something is on its way.
        """
        return ceil(self.delay_ms) if self.open and not self._in_flight else None

    @property
    def last_waiting(self) -> Deliver | None:
        """What is to arrive last of all that waits behind a held link."""
        return self._waiting[-1] if self._waiting else None

    def send(self, deliver: Deliver) -> None:
        """Run `deliver` at the other end, when and if the message gets there.

        Behind a held link the same message waits once, however often it is sent in a row.
        """
        if self.cut:
            return
        if self.held:
            if self.last_waiting is not deliver:
                self._waiting.append(deliver)
        elif self.delay_ms <= 0 and not self._in_flight:
            self._links.arrived.append(deliver)
        else:
            self._schedule(deliver)

    def _schedule(self, deliver: Deliver) -> None:
        links = self._links
        generation = self._generation
        self._in_flight += 1

        def arrive() -> None:
            if generation == self._generation:
                self._in_flight -= 1
                links.arrived.append(deliver)

        # The timer runs tasks of one millisecond by age, and a shorter delay must not overtake.
        due_ms = max(links.clock.now_ms + self.delay_ms, links.latest_ms.get(self, 0.0))
        links.latest_ms[self] = due_ms
        links.timer.schedule(due_ms, arrive)

    def sever(self) -> None:
        """Cut the link: what is on its way is lost too."""
        self.cut = True
        self._generation += 1
        self._in_flight = 0
        self._waiting.clear()

    def hold(self) -> None:
        """Let what is sent from now on wait."""
        self.held = True

    @property
    def faults(self) -> LinkFaults:
        """What is wrong with it."""
        return LinkFaults(self.cut, self.held, self.delay_ms)

    def become(self, faults: LinkFaults) -> None:
        """Have these faults; it had none."""
        self.slow(faults.delay_ms)
        if faults.held:
            self.hold()
        if faults.cut:
            self.sever()

    def slow(self, delay_ms: float) -> None:
        """Let each message take so long; 0 is at once."""
        self.delay_ms = delay_ms

    def restore(self) -> None:
        """Carry again, without delay; what was held arrives first."""
        closed = not self.open
        self.cut = self.held = False
        self.delay_ms = 0.0
        waiting, self._waiting = self._waiting, deque()
        for deliver in waiting:
            self.send(deliver)
        if closed:
            for action in self.on_open:
                action()


class Links:
    """All links of a cluster, made when first asked for; `arrived` is what to run, in order."""

    def __init__(self, clock: Clock, timer: Timer) -> None:
        self.clock = clock
        self.timer = timer
        self.arrived: deque[Deliver] = deque()
        self.latest_ms: dict[Link, float] = {}
        self._links: dict[tuple[int, int], Link] = {}

    def get(self, source: int, target: int) -> Link:
        """The link from one node, or the controller, to another."""
        link = self._links.get((source, target))
        if link is None:
            link = self._links[source, target] = Link(self, source, target)
        return link

    def faulty(self) -> dict[tuple[int, int], LinkFaults]:
        """The links that have faults, by their ends."""
        return {
            ends: link.faults for ends, link in self._links.items() if link.faults != _NO_FAULTS
        }

    def run(self) -> bool:
        """Deliver what has arrived by now; False when nothing had."""
        arrived = self.arrived
        if not arrived:
            return False
        for _ in range(len(arrived)):
            arrived.popleft()()
        return True
