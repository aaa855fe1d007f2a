"""One asyncio protocol a connection: bytes in, chunks out, flow control both ways.

Made by `socket_server` for each accepted socket. It holds no Kafka state: reads go straight into
the core's frame buffer, writes are the core's chunks.
"""

from __future__ import annotations

import asyncio
import select
import socket
import struct
import sys
from typing import TYPE_CHECKING, Final, Protocol, cast

if TYPE_CHECKING:
    from mockbroker.cluster.nodes import Node
    from mockbroker.node.broker import Broker
    from mockbroker.node.outbox import Outgoing
    from mockbroker.node.tls_session import TlsSession

WRITE_HIGH_WATER_BYTES: Final = 1 << 20
"""Unsent bytes in one socket's buffer past which no further request of it is worked on."""
LITTLE_BYTES: Final = 1 << 16
"""The same where there are many."""
GONE_SECONDS: Final = 5.0
"""How often is looked whether a client is still there that is not read."""
JOIN_LIMIT_BYTES: Final = 1 << 16
"""Answers up to this size go out as one buffer; larger ones as a list, uncopied."""
WRITELINES_FORGETS_TO_PAUSE: Final = (3, 12) <= sys.version_info < (3, 12, 9) or (
    (3, 13) <= sys.version_info < (3, 13, 2)
)
"""asyncio's own loop does not call pause_writing from writelines there (CVE-2024-12254)."""

_NO_LINGER: Final = struct.pack("ii", 1, 0)
"""With it a socket that is closed sends RST."""


def is_gone(transport: asyncio.Transport) -> bool:
    """Whether the other end has closed; False where the system does not tell."""
    sock = transport.get_extra_info("socket")
    if sock is None or not hasattr(select, "POLLRDHUP"):
        return False
    poll = select.poll()
    poll.register(sock.fileno(), select.POLLRDHUP)
    return bool(poll.poll(0))


class Connections(Protocol):
    """Whom a transport tells of its connection: the socket server of a broker."""

    broker: Broker
    node: Node

    def opened(self, transport: ClientTransport) -> None:
        """A client connected; `admitted` says that there is room for it."""

    def connected(self, transport: ClientTransport) -> None:
        """A client that was admitted may be served."""

    def refused(self, transport: ClientTransport, reason: str) -> None:
        """A client was sent away, or is kept waiting."""

    def received(self, connection_id: int, size_bytes: int) -> None:
        """Bytes arrived in the buffer that the broker gave."""

    def blocked(self, connection_id: int, blocked: bool) -> None:
        """A client stopped, or went on, reading its answers."""

    def lost(self, transport: ClientTransport) -> None:
        """A connection ended."""


class ClientTransport(asyncio.BufferedProtocol):
    """The shell's side of one connection."""

    __slots__ = (
        "_high_water",
        "_looking",
        "_reading",
        "_server",
        "_transport",
        "id",
        "listener",
        "paused",
        "session",
    )

    def __init__(
        self, server: Connections, connection_id: int, listener: str = "PLAINTEXT"
    ) -> None:
        self.id = connection_id
        self.listener = listener
        self._server = server
        self._transport: asyncio.Transport | None = None
        self._reading = True
        self._high_water = WRITE_HIGH_WATER_BYTES
        self.paused = False
        """Whether the client does not read."""
        self._looking: asyncio.TimerHandle | None = None
        self.session: TlsSession | None = None
        """None without TLS, and until its handshake is done."""

    @property
    def inner(self) -> asyncio.Transport | None:
        """What it writes to; None once the socket is gone."""
        return self._transport

    @property
    def unread_bytes(self) -> int:
        """What waits for the client to read."""
        return 0 if self._transport is None else self._transport.get_write_buffer_size()

    def hold_little(self) -> None:
        """Be one of many."""
        self._high_water = LITTLE_BYTES
        if self._transport is not None:
            self._transport.set_write_buffer_limits(high=LITTLE_BYTES)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A socket was accepted."""
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=self._high_water)
        self._server.opened(self)

    def admitted(self) -> None:
        """There is room for this client."""
        self._server.connected(self)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Where asyncio reads into."""
        return self._server.broker.receive_buffer(self.id, sizehint)

    def buffer_updated(self, nbytes: int) -> None:
        """Bytes were read."""
        self._server.received(self.id, nbytes)

    def eof_received(self) -> bool:
        """The client sends no more; True: the broker closes when it is done with what came."""
        return self._server.broker.ended(self.id)

    def pause_writing(self) -> None:
        """The client does not read: work on nothing more of it until it does."""
        self.paused = True
        self._server.blocked(self.id, True)

    def resume_writing(self) -> None:
        """The client reads again."""
        self.paused = False
        self._server.blocked(self.id, False)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 -- asyncio's signature
        """The socket is gone."""
        self._transport = None
        if self._looking is not None:
            self._looking.cancel()
            self._looking = None
        self._server.lost(self)

    def write(self, outgoing: Outgoing) -> None:
        """Do what the core wants done."""
        transport = self._transport
        if transport is None:
            return
        chunks = outgoing.chunks
        if len(chunks) == 1:
            transport.write(chunks[0])
        elif outgoing.size_bytes <= JOIN_LIMIT_BYTES:
            if chunks:
                transport.write(b"".join(chunks))
        else:
            transport.writelines(chunks)
            if WRITELINES_FORGETS_TO_PAUSE:
                # Setting the limits looks at the buffer, and pauses when it is past them.
                transport.set_write_buffer_limits(high=self._high_water)
        if outgoing.close:
            self._end(transport, outgoing.ending)
        elif outgoing.read is not self._reading:
            self._set_reading(transport, outgoing.read)

    def _set_reading(self, transport: asyncio.Transport, wanted: bool) -> None:
        if transport.is_closing():
            return
        self._reading = wanted
        if wanted:
            transport.resume_reading()
        else:
            transport.pause_reading()
            self._look_later()

    def _look_later(self) -> None:
        """Who is not read is not noticed when it goes: look for it."""
        if self._looking is None:
            self._looking = asyncio.get_running_loop().call_later(GONE_SECONDS, self._look)

    def _look(self) -> None:
        self._looking = None
        transport = self._transport
        if transport is None or self._reading:
            return
        if is_gone(transport):
            transport.abort()
        else:
            self._look_later()

    def _end(self, transport: asyncio.Transport, ending: str | None) -> None:
        """Close, or end the connection as a fault wants it."""
        if ending == "reset":
            sock = transport.get_extra_info("socket")
            if sock is not None:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
            transport.abort()
        elif ending == "half_close" and transport.can_write_eof():
            transport.write_eof()
        else:
            transport.close()

    def pause(self) -> None:
        """Read nothing of a client that the broker does not know yet."""
        if self._transport is not None:
            self._set_reading(self._transport, wanted=False)

    def go_on(self) -> None:
        """Read what a client has sent that was paused."""
        if self._transport is not None:
            self._set_reading(self._transport, wanted=True)

    def close(self) -> None:
        """Close once everything written has been sent."""
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """Close now and drop what was not sent."""
        if self._transport is not None:
            self._transport.abort()
