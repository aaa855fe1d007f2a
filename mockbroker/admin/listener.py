"""The admin port: bound when the broker starts, served from the first connection on.

`launch` starts and stops it. Binding costs a system call; the web framework takes a second to
import, so that happens in a thread, when the first client has connected and waits. A broker that
nobody administers never pays for it.

Invariant: the port accepts connections from `start` to `stop`, whether the framework is there yet
or not.
"""

from __future__ import annotations

import asyncio
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from mockbroker.admin.errors import AdminError
from mockbroker.admin.limits import BACKLOG, Limits
from mockbroker.admin.security import needs_token
from mockbroker.network.acceptor import listening_socket

if TYPE_CHECKING:
    import socket
    from ssl import SSLContext

    from mockbroker.admin.host import Host

STOP_GRACE_SECONDS: Final = 2.0
_FRAMEWORK: Final = ("fastapi", "uvicorn")


def missing_extra() -> str | None:
    """What the admin API lacks to be served; None when all is installed."""
    missing = [name for name in _FRAMEWORK if find_spec(name) is None]
    return ", ".join(missing) or None


class AdminListener:
    """One admin port. `token` is the bearer token that every request must bring, or None.

    With `tls` it speaks HTTPS.
    """

    def __init__(
        self,
        host: Host,
        address: str,
        port: int,
        token: str | None,
        limits: Limits,
        tls: SSLContext | None = None,
    ) -> None:
        missing = missing_extra()
        if missing is not None:
            raise AdminError(f"--admin-port: {missing} not found; install mockbroker[admin]")
        if token is None and needs_token(address):
            raise AdminError(
                f"--admin-token: needed, because --admin-host {address} can be reached from"
                " elsewhere; allowed: any text of 8 characters and more"
            )
        self._host = host
        self._address = address
        self._token = token
        self._limits = limits
        self._tls = tls
        self._port = port
        self._socket: socket.socket | None = None
        self._server: Any = None
        self._task: asyncio.Task[None] | None = None

    def start(self) -> int:
        """Listen; returns the port bound. Raises OSError."""
        sock = listening_socket(self._address, self._port)
        try:
            sock.listen(BACKLOG)
        except OSError:
            sock.close()
            raise
        self._socket = sock
        asyncio.get_running_loop().add_reader(sock.fileno(), self._first_connection)
        port: int = sock.getsockname()[1]
        return port

    def _first_connection(self) -> None:
        assert self._socket is not None
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._socket.fileno())
        self._task = loop.create_task(self._serve(self._socket))

    async def _serve(self, sock: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        server = await loop.run_in_executor(None, import_module, "mockbroker.admin.server")
        if self._socket is None:  # stopped meanwhile
            return
        self._server = server.make_server(
            self._host, self._address, self._token, self._limits, self._tls
        )
        await self._server.serve(sockets=[sock])

    async def stop(self) -> None:
        """Stop accepting, end the streams, close."""
        sock, self._socket = self._socket, None
        if sock is None:
            return
        if self._task is None:
            asyncio.get_running_loop().remove_reader(sock.fileno())
        else:
            if self._server is not None:
                self._server.end()
            await asyncio.wait({self._task}, timeout=STOP_GRACE_SECONDS)
            self._task.cancel()
        sock.close()
