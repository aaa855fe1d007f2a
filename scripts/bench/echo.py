"""What the event loop alone can do, over uvloop: a peer that is no broker. Prints nothing.

    python -m scripts.bench.echo PORT [PEM]

Each byte that arrives is sent back: in `all` the limit of each row whose requests are answered one
by one. With a certificate connections are uvloop's own, over TLS, and each frame is answered with
as many bytes as its correlation id says: in `throughput --tls` the limit of large requests and
answers too.
"""

from __future__ import annotations

import asyncio
import ssl
import struct
import sys
from typing import Final, cast

import uvloop

_HEAD: Final = struct.Struct(">iii")
"""Length, API and version, correlation id."""


class Echo(asyncio.Protocol):
    """One connection."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._write = cast("asyncio.Transport", transport).write

    def data_received(self, data: bytes) -> None:
        self._write(data)


class Answers(asyncio.Protocol):
    """One connection that is asked for so many bytes."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._write = cast("asyncio.Transport", transport).write
        self._head = b""
        self._left = self._wanted = 0

    def data_received(self, data: bytes) -> None:
        answers = []
        if self._head:
            data = self._head + data
        at = 0
        while at + self._left <= len(data):
            if self._left:
                at += self._left
                self._left = 0
                answers.append(struct.pack(">i", self._wanted) + bytes(self._wanted))
            if len(data) - at < _HEAD.size:
                break
            length, _, self._wanted = _HEAD.unpack_from(data, at)
            self._left = 4 + length
        if self._left:
            self._head = b""
            self._left -= len(data) - at
        else:
            self._head = data[at:]
        if answers:
            self._write(answers[0] if len(answers) == 1 else b"".join(answers))


async def _serve(port: int, pem: str | None = None) -> None:
    context = None
    if pem is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.options |= ssl.OP_NO_TICKET
        context.load_cert_chain(pem)
    made = Echo if context is None else Answers
    server = await asyncio.get_running_loop().create_server(made, "127.0.0.1", port, ssl=context)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(_serve(int(sys.argv[1]), *sys.argv[2:]))
