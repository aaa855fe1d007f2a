"""What requests that are not done yet may take in memory, over all connections of a broker.

`metered_broker` has one where `queued.max.request.bytes` is set (Kafka: SimpleMemoryPool, not
strict): a frame is granted while there is any memory left, as large as it says that it is, so one
frame more than there is room for. It gives its bytes back when its handler is done with it, parked
or answered. A connection whose next frame is not granted is not read, and goes on in the order in
which it came to wait; what it had sent in one piece with the last one that was granted is withheld.

Invariants: `available` is the size less what is granted; a connection that waits is starved; a
connection that was forgotten has nothing.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mockbroker.node.connection import Connection
    from mockbroker_protocol.frames import Frame


class MemoryPool:
    """The bytes of requests under way, by connection."""

    __slots__ = (
        "_charged",
        "_partials",
        "_waiting",
        "available",
        "size",
    )

    def __init__(self, size: int) -> None:
        self.size = size
        self.available = size
        self._charged: dict[int, int] = {}
        self._partials: dict[int, int] = {}
        """The sizes of frames that were granted and are not whole yet."""
        self._waiting: dict[int, tuple[Connection, deque[Frame]]] = {}

    def arrived(self, conn: Connection, frames: list[Frame]) -> None:
        """Queue what is granted of the frames that became whole, and withhold the rest."""
        if conn.closing:
            return
        if conn.starved:  # whoever sends does not know yet that it is not read
            self._waiting[conn.id][1].extend(frames)
            return
        begun = self._partials.pop(conn.id, 0)
        if begun and not frames:
            self._partials[conn.id] = begun
            return
        withheld = deque(frames)
        if begun:
            self._push(conn, withheld)
        if conn.frames.error is not None:  # it is not read any more
            while withheld:
                self._push(conn, withheld)
        self._grant(conn, withheld)
        if withheld or (conn.frames.announced_bytes and conn.id not in self._partials):
            conn.starved = True
            self._waiting[conn.id] = (conn, withheld)

    def settle(self, conn: Connection) -> None:
        """Charge a connection what it has now."""
        held = conn.queued_bytes + self._partials.get(conn.id, 0)
        ctx = conn.in_work
        if ctx is not None and ctx.woken_by is None:  # it is not parked
            held += ctx.request_bytes
        self._charge(conn.id, held)

    def forget(self, conn: Connection) -> None:
        """A connection is gone, or nothing more of it is worked on."""
        self._partials.pop(conn.id, None)
        self._waiting.pop(conn.id, None)
        conn.starved = False
        self._charge(conn.id, 0)

    def let_go_on(self) -> list[Connection]:
        """The connections that were granted something since, in the order in which they waited."""
        granted: list[Connection] = []
        while self._waiting and self.available > 0:
            conn, withheld = next(iter(self._waiting.values()))
            self._grant(conn, withheld)
            granted.append(conn)
            if withheld or (conn.frames.announced_bytes and conn.id not in self._partials):
                break
            del self._waiting[conn.id]
            conn.starved = False
        return granted

    def _grant(self, conn: Connection, withheld: deque[Frame]) -> None:
        """Whole frames, and then the one that has begun, while there is any memory left."""
        while withheld and self.available > 0:
            self._push(conn, withheld)
        begun = conn.frames.announced_bytes
        if begun and not withheld and self.available > 0:
            self._partials[conn.id] = begun
        self.settle(conn)

    def _push(self, conn: Connection, withheld: deque[Frame]) -> None:
        conn.push([withheld.popleft()])
        self.settle(conn)

    def _charge(self, connection_id: int, held: int) -> None:
        self.available += self._charged.pop(connection_id, 0) - held
        if held:
            self._charged[connection_id] = held
