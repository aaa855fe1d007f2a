"""What a broker wants written to its connections, collected over a step.

`request_handler` and `broker` touch a connection that has something for its shell; whoever drives
the broker takes the outbox after the step: a server, the cluster, a simulation. What is for other
brokers is taken apart, by `cluster.interconnect`: their connections have negative ids.

Invariants: a connection is in it at most once; connections come in the order in which they were
first touched.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mockbroker.node.connection import Connection
    from mockbroker_protocol.primitives import Buffer


class Outgoing:
    """What the shell must do for one connection, in this order.

    Write `chunks`; close if `close`, in the way of `ending` if a fault wants one; read on, or not,
    as `read` says (back-pressure); and if
    `more`, call `resume` soon: a long pipeline gives way to other connections.
    """

    __slots__ = ("chunks", "close", "connection_id", "ending", "more", "read", "size_bytes")

    def __init__(
        self,
        connection_id: int,
        chunks: list[Buffer],
        size_bytes: int,
        close: bool,
        read: bool = True,
        more: bool = False,
    ) -> None:
        self.connection_id = connection_id
        self.chunks = chunks
        self.size_bytes = size_bytes
        self.close = close
        self.read = read
        self.more = more
        self.ending: str | None = None


class Outbox:
    """The connections with something to write."""

    __slots__ = ("_touched", "_touched_by_brokers")

    def __init__(self) -> None:
        self._touched: list[Connection] = []
        self._touched_by_brokers: list[Connection] = []

    def touch(self, conn: Connection) -> None:
        """The next `take` tells of this connection."""
        if not conn.touched:
            conn.touched = True
            if conn.id >= 0:
                self._touched.append(conn)
            else:
                self._touched_by_brokers.append(conn)

    def take(self) -> list[Outgoing]:
        """What the steps so far want written, in the order in which connections got answers."""
        touched = self._touched
        if not touched:
            return []
        self._touched = []
        outbox = []
        for conn in touched:
            conn.touched = False
            chunks, size_bytes = conn.out, conn.out_bytes
            if size_bytes:
                conn.out = []
                conn.out_bytes = 0
            else:
                chunks = []  # not the connection's own, to which the next answer is added
            if conn.queue:
                read, more = not (conn.full or conn.starved), conn.can_work
            else:
                read, more = not conn.starved, False
            outgoing = Outgoing(conn.id, chunks, size_bytes, conn.closing, read, more)
            if conn.closing:
                outgoing.ending = conn.ending
            outbox.append(outgoing)
        return outbox

    def take_for_brokers(self) -> list[Outgoing]:
        """The same of the connections of other brokers."""
        if not self._touched_by_brokers:
            return []
        clients, self._touched = self._touched, self._touched_by_brokers
        self._touched_by_brokers = []
        outbox = self.take()
        self._touched = clients
        return outbox
