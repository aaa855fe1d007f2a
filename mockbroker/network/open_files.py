"""How many files and sockets a process may have open, and that connections leave some over.

`socket_server` and the admin port ask `leaves_too_few` of each connection; listening sockets are
`ListeningSocket`s. A process out of descriptors can neither write its journal nor say what is
wrong, and an event loop asks the same connection again and again; so the last ones are no
client's, and each client is sent away that would take one.
"""

from __future__ import annotations

import errno
import os
import socket
import sys
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import asyncio

if sys.platform != "win32":
    import resource

SPARE: Final = 64
"""Descriptors that Kafka's clients leave over, for the admin port and for files."""
_EXHAUSTED: Final = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


def leaves_too_few(transport: asyncio.BaseTransport, spare: int = SPARE) -> bool:
    """Whether a connection has one of the last `spare` descriptors, or of the last quarter.

    The lowest free one is given to each, so a high number says how many there are.
    """
    if sys.platform == "win32":
        return False
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    sock = transport.get_extra_info("socket")
    if sock is None or limit == resource.RLIM_INFINITY:
        return False
    descriptor: int = sock.fileno()
    return descriptor >= limit - min(spare, limit * spare // SPARE // 4)


class ListeningSocket(socket.socket):
    """Sheds a client that there is no descriptor for, as libuv does, where asyncio would retry.

    One descriptor is kept to accept it with.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 -- the socket's own
        super().__init__(*args, **kwargs)
        self._kept = os.open(os.devnull, os.O_RDONLY)

    def accept(self) -> tuple[socket.socket, Any]:
        """As any socket's; raises BlockingIOError where a client was sent away."""
        try:
            return super().accept()
        except OSError as error:
            if error.errno not in _EXHAUSTED:
                raise
            self._shed()
            raise BlockingIOError(errno.EAGAIN, "sent away") from None

    def close(self) -> None:
        """Give back both descriptors."""
        super().close()
        self._give_back()

    def detach(self) -> int:
        """As any socket's: uvloop closes the descriptor itself, and calls no `close`."""
        self._give_back()
        return super().detach()

    def _give_back(self) -> None:
        kept, self._kept = self._kept, -1
        if kept >= 0:
            os.close(kept)

    def _shed(self) -> None:
        if self._kept < 0:
            return
        os.close(self._kept)
        self._kept = -1
        try:
            super().accept()[0].close()
        except OSError:
            pass
        try:
            self._kept = os.open(os.devnull, os.O_RDONLY)
        except OSError:
            pass  # another thread took it; the next client waits
