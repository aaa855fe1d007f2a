"""Bad networks on purpose: answers that come late, slowly or in slices.

While a fault rule about connections is armed, `socket_server` puts a `ShapedTransport` in front of
each `ClientTransport`; without one it is not there. Times are real, as the network's are. Only what
the broker sends is shaped: a round trip is as long, whichever way is slow.

Invariants: bytes leave in the order in which they were given, none before its time; what is held
back when the last rule goes is sent at once.
"""

from __future__ import annotations

from collections import deque
from time import monotonic
from typing import TYPE_CHECKING, Final

from mockbroker.network.transport import WRITE_HIGH_WATER_BYTES
from mockbroker.node.outbox import Outgoing

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Sequence

    from mockbroker.faults.armed_fault import ArmedFault
    from mockbroker.network.transport import ClientTransport

SLICE_GAP_SECONDS: Final = 0.001
"""Between two slices that no bandwidth spreads: they shall not arrive as one."""
LEAST_DELAY_SECONDS: Final = 0.001
"""A loop counts whole milliseconds from when its turn began: it may ring too early."""
MAX_SLICES: Final = 4096
"""Of one answer: the rest of a large one goes in one piece."""


class Shape:
    """What several rules make of one write: latencies add up, the narrowest limits count."""

    __slots__ = ("bandwidth", "latency_seconds", "slice_bytes")

    def __init__(self, rules: Sequence[ArmedFault]) -> None:
        delays = [(rule.fault.latency, rule.rng) for rule in rules]
        self.latency_seconds = sum(d.draw(rng) for d, rng in delays if d is not None) / 1000.0
        widths = [r.fault.bandwidth for r in rules if r.fault.bandwidth is not None]
        slices = [r.fault.slice_bytes for r in rules if r.fault.slice_bytes is not None]
        self.bandwidth = min(widths, default=None)
        self.slice_bytes = min(slices, default=None)
        for rule in rules:
            rule.hits += 1

    def pieces(self, data: bytes) -> list[bytes]:
        """What is written at a time."""
        size = self.slice_bytes
        if size is None and self.bandwidth is not None:
            size = max(1, self.bandwidth // 20)  # twenty pieces a second look like a stream
        if size is None:
            return [data]
        end = min(len(data), size * (MAX_SLICES - 1))
        pieces = [data[at : at + size] for at in range(0, end, size)]
        return [*pieces, data[end:]] if end < len(data) else pieces

    def gap_seconds(self, piece: bytes) -> float:
        """How long a piece takes."""
        if self.bandwidth is not None:
            return len(piece) / self.bandwidth
        return SLICE_GAP_SECONDS if self.slice_bytes is not None else 0.0


class ShapedTransport:
    """Stands in for one transport while rules about connections are armed."""

    __slots__ = (
        "_alarm",
        "_blocked",
        "_blocks",
        "_held_bytes",
        "_last_at",
        "_loop",
        "_pending",
        "_rules",
        "id",
        "transport",
    )

    def __init__(
        self,
        transport: ClientTransport,
        rules: Callable[[int], Sequence[ArmedFault]],
        blocked: Callable[[int, bool], None],
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        """`rules` tells those in force for a connection, by its number.

        `blocked` is told when as much is held back as may wait for a client that does not read.
        """
        self.id = transport.id
        self.transport = transport
        self._rules = rules
        self._loop = loop
        self._pending: deque[tuple[float, Outgoing]] = deque()
        self._last_at = 0.0
        self._held_bytes = 0
        self._blocked = blocked
        self._blocks = False
        self._alarm: asyncio.TimerHandle | None = None

    def write(self, outgoing: Outgoing) -> None:
        """As `ClientTransport.write`, later."""
        rules = self._rules(self.id)
        if not self._pending and (not rules or not outgoing.chunks):
            self.transport.write(outgoing)
            return
        self._held_bytes += outgoing.size_bytes
        if self._held_bytes > WRITE_HIGH_WATER_BYTES:
            self._blocks = True
            self._blocked(self.id, True)
        shape = Shape(rules)
        at = max(monotonic() + shape.latency_seconds, self._last_at)
        for piece in shape.pieces(b"".join(outgoing.chunks)):
            at += shape.gap_seconds(piece)
            part = Outgoing(self.id, [piece], len(piece), False, outgoing.read)
            self._pending.append((at, part))
        end = Outgoing(self.id, [], 0, outgoing.close, outgoing.read)
        end.ending = outgoing.ending
        self._pending.append((at, end))
        self._last_at = at
        self._pump()

    @property
    def unread_bytes(self) -> int:
        """What waits here, and for the client to read."""
        return self._held_bytes + self.transport.unread_bytes

    def flush(self) -> None:
        """Send what is held back, at once."""
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        while self._pending:
            self._send()
        self._go_on()

    def _send(self) -> None:
        outgoing = self._pending.popleft()[1]
        self._held_bytes -= outgoing.size_bytes
        self.transport.write(outgoing)

    def _go_on(self) -> None:
        """Let the broker work on more, if it was told not to."""
        if self._blocks and self._held_bytes <= WRITE_HIGH_WATER_BYTES // 4:
            self._blocks = False
            if not self.transport.paused:
                self._loop.call_soon(self._blocked, self.id, False)

    def close(self) -> None:
        """Close once everything written has been sent."""
        self.flush()
        self.transport.close()

    def abort(self) -> None:
        """Close now and drop what was not sent."""
        self._pending.clear()
        self._held_bytes = 0
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        self.transport.abort()

    def _pump(self) -> None:
        """Send what is due, and come back for the rest."""
        pending, now = self._pending, monotonic()
        while pending and pending[0][0] <= now:
            self._send()
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm = None
        if pending:
            delay_seconds = max(pending[0][0] - now, LEAST_DELAY_SECONDS)
            self._alarm = self._loop.call_later(delay_seconds, self._pump)
        self._go_on()
