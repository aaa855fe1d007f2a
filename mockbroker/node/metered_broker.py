"""A broker whose requests under way have a bound on their bytes, `queued.max.request.bytes`.

`assembly` makes one where that is set; other brokers do not count, which costs each request.
What is counted, and who waits, is told by `memory_pool`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from mockbroker.node.broker import Broker
from mockbroker.node.memory_pool import MemoryPool
from mockbroker.node.request_handler import RequestHandler
from mockbroker_protocol.errors import ProtocolError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mockbroker.apis.context import RequestContext, Services
    from mockbroker.journal import Journal
    from mockbroker.node.connection import Connection
    from mockbroker.node.outbox import Outbox
    from mockbroker.node.slices import SlicedWork
    from mockbroker_protocol.frames import Frame


class MeteredRequests(RequestHandler):
    """Tells the pool whenever a connection may hold more or less than before."""

    def __init__(
        self,
        services: Services,
        journal: Journal,
        connections: Mapping[int, Connection],
        outbox: Outbox,
    ) -> None:
        super().__init__(services, journal, connections, outbox)
        self.pool = MemoryPool(services.config.int("queued.max.request.bytes"))

    def work(self, conn: Connection) -> None:
        super().work(conn)
        self.pool.settle(conn)

    def _advance(self, work: SlicedWork) -> bool:
        more = super()._advance(work)
        self._settle(work.ctx)
        return more

    def _record(self, ctx: RequestContext) -> None:
        super()._record(ctx)
        self._settle(ctx)

    def _settle(self, ctx: RequestContext) -> None:
        conn = self._connections.get(ctx.connection_id)
        if conn is not None:
            self.pool.settle(conn)

    def abandon(self, conn: Connection) -> None:
        super().abandon(conn)
        self.pool.forget(conn)

    def drain(self) -> None:
        super().drain()
        while not self.unfinished and (granted := self.pool.let_go_on()):
            for conn in granted:
                self._outbox.touch(conn)  # it may be read again
            self.runnable += granted
            super().drain()


class MeteredBroker(Broker):
    """Lets the pool decide what becomes of the frames that arrive."""

    requests_made_by = MeteredRequests

    @property
    def pool(self) -> MemoryPool:
        """What its requests may take."""
        return cast("MeteredRequests", self.requests).pool

    def _take(self, conn: Connection, frames: list[Frame]) -> None:
        self.pool.arrived(conn, frames)
        if conn.starved:
            self._outbox.touch(conn)
        super()._take(conn, [])

    def arrived(self, connection_id: int, size_bytes: int) -> None:
        conn = self._connections[connection_id]
        try:
            frames = conn.frames.buffer_updated(size_bytes)
        except ProtocolError:
            frames = []  # `conn.frames.error` says it
        self.pool.arrived(conn, frames)
        if conn.starved:
            self._outbox.touch(conn)
        self.requests.runnable.append(conn)

    def metrics(self) -> dict[str, float]:
        pool = self.pool
        return super().metrics() | {
            "kafka.network:type=SocketServer,name=MemoryPoolAvailable": pool.available,
            "kafka.network:type=SocketServer,name=MemoryPoolUsed": pool.size - pool.available,
        }
