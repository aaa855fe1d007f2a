"""A listening socket of a broker (Kafka: SocketServer.Acceptor, EndPoint).

`socket_server` has one for each listener of its broker, and closes and opens it again at the same
address.
"""

from __future__ import annotations

import asyncio
import errno
import socket
from typing import TYPE_CHECKING, Final

from mockbroker.network.open_files import ListeningSocket

if TYPE_CHECKING:
    from collections.abc import Callable

BACKLOG: Final = 1024
_ADDRESS_CHARACTERS: Final = "0123456789.:"


class Acceptor:
    """Accepts at one address, under the name of a listener. It listens from `serve` on.

    `refusable` says whether a fault rule may shut it.
    """

    def __init__(
        self, name: str, host: str, port: int, make: Callable[[], asyncio.BaseProtocol]
    ) -> None:
        """`make` is called for each connection."""
        self.name = name
        self.host = host
        self.port = port
        self._make = make
        self._server: asyncio.Server | None = None
        self._shut = False
        self.opening: asyncio.Task[None] | None = None
        self.refusable = True
        self.refused = False
        """Whether a fault rule has shut it."""

    async def bind(self) -> tuple[str, int]:
        """Take the address, and return it: a `port` 0 becomes one that is free. Raises OSError."""
        sock = listening_socket(self.host, self.port)
        try:
            self._server = await asyncio.get_running_loop().create_server(
                self._make, sock=sock, backlog=BACKLOG, start_serving=False
            )
        except BaseException:
            sock.close()
            raise
        host, self.port = sock.getsockname()[:2]
        return str(host), self.port

    async def serve(self) -> None:
        """Accept, now that it is bound."""
        assert self._server is not None
        if not self._server.is_serving():
            await self._server.start_serving()

    def listen_again(self) -> None:
        """Listen at the same address: from now on clients may connect. Raises OSError."""
        sock = listening_socket(self.host, self.port)
        try:
            sock.listen(BACKLOG)
        except OSError:
            sock.close()
            raise
        self._shut = False
        self.opening = asyncio.get_running_loop().create_task(self._accept_on(sock))

    async def _accept_on(self, sock: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(self._make, sock=sock, backlog=BACKLOG)
        if self._shut:
            self.shut()

    def shut(self) -> None:
        """Stop listening."""
        self._shut = True
        if self._server is not None:
            self._server.close()
            self._server = None


def listening_socket(host: str, port: int) -> socket.socket:
    """A bound TCP socket; IPv6 hosts work too. Raises OSError."""
    try:
        # An address needs no codec for names, which is slow to import; bytes are taken as they are.
        spelled = host.encode() if not host.strip(_ADDRESS_CHARACTERS) else host
        family, kind, proto, _, address = socket.getaddrinfo(
            spelled, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except UnicodeError:  # an empty label, or one that is too long
        raise OSError(errno.EINVAL, "not a host name") from None
    sock = ListeningSocket(family, kind, proto)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(address)
        sock.setblocking(False)
    except OSError:
        sock.close()
        raise
    return sock
