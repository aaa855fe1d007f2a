"""Connections that brokers of this process open: to brokers of other processes, to follow them.

`server` makes it beside a controller's listener, where such brokers register; the cluster says
which bytes go where (`cluster.interconnect`). What is connected to is what they have registered.

Invariants: a connection that the cluster has closed is told of no more; at most MAX_CONNECTIONS are
open or being opened, each of the latter for CONNECT_SECONDS at the most.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker.cluster.interconnect import Interconnect

MAX_CONNECTIONS: Final = 100
CONNECT_SECONDS: Final = 10.0
"""Kafka: socket.connection.setup.timeout.ms."""


class OutgoingConnections:
    """By the ids of the cluster's clients (`interconnect.Outside`).

    `begin_step` tells the cluster the time, `end_step` lets it do what follows.
    """

    def __init__(
        self,
        interconnect: Interconnect,
        begin_step: Callable[[], None],
        end_step: Callable[[], None],
    ) -> None:
        self._interconnect = interconnect
        self._begin_step = begin_step
        self._end_step = end_step
        self._open: dict[int, OutgoingConnection] = {}

    def __len__(self) -> int:
        """How many there are."""
        return len(self._open)

    def send(self, connection_id: int, host: str, port: int, data: bytes) -> None:
        """Carry bytes; the first ones of a connection open it."""
        connection = self._open.get(connection_id)
        if connection is None:
            connection = OutgoingConnection(self, connection_id)
            if len(self._open) >= MAX_CONNECTIONS:
                asyncio.get_running_loop().call_soon(self._refused, connection_id)
                return
            self._open[connection_id] = connection
            connection.open(host, port)
        connection.write(data)

    def close(self, connection_id: int) -> None:
        """Hang up."""
        connection = self._open.pop(connection_id, None)
        if connection is not None:
            connection.abort()

    def stop(self) -> None:
        """Hang up everywhere."""
        for connection_id in list(self._open):
            self.close(connection_id)

    def received(self, connection_id: int, data: bytes) -> None:
        """Bytes arrived."""
        if connection_id in self._open:
            self._begin_step()
            self._interconnect.received_outside(connection_id, data)
            self._end_step()

    def lost(self, connection_id: int) -> None:
        """The connection ended, or could not be opened."""
        if self._open.pop(connection_id, None) is not None:
            self._refused(connection_id)

    def _refused(self, connection_id: int) -> None:
        self._begin_step()
        self._interconnect.lost_outside(connection_id)
        self._end_step()


class OutgoingConnection(asyncio.Protocol):
    """One of them."""

    def __init__(self, owner: OutgoingConnections, connection_id: int) -> None:
        self._owner = owner
        self._id = connection_id
        self._transport: asyncio.Transport | None = None
        self._unsent: list[bytes] = []
        self._opening: asyncio.Task[None] | None = None

    def open(self, host: str, port: int) -> None:
        """Connect; what is written meanwhile waits."""
        self._opening = asyncio.get_running_loop().create_task(self._connect(host, port))

    async def _connect(self, host: str, port: int) -> None:
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                await asyncio.get_running_loop().create_connection(lambda: self, host, port)
        except (OSError, UnicodeError):  # a time-out is an OSError; a name may be none
            if self._transport is not None:
                self._transport.abort()
            self._owner.lost(self._id)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The other end has accepted."""
        self._transport = cast("asyncio.Transport", transport)
        self._transport.writelines(self._unsent)
        self._unsent.clear()

    def write(self, data: bytes) -> None:
        """Send bytes, at once or when it is open."""
        if self._transport is None:
            self._unsent.append(data)
        else:
            self._transport.write(data)

    def abort(self) -> None:
        """End it now."""
        if self._opening is not None:
            self._opening.cancel()
        if self._transport is not None:
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        """The other end answers."""
        self._owner.received(self._id, data)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 -- asyncio's signature
        """The other end has hung up."""
        self._owner.lost(self._id)
