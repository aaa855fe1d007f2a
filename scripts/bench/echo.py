"""What the event loop alone can do: each byte that arrives is sent back, over uvloop.

A peer of `all`: the limit of each row whose requests are answered one by one. Prints nothing.
"""

from __future__ import annotations

import asyncio
import sys
from typing import cast

import uvloop


class Echo(asyncio.Protocol):
    """One connection."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._write = cast("asyncio.Transport", transport).write

    def data_received(self, data: bytes) -> None:
        self._write(data)


async def _serve(port: int) -> None:
    server = await asyncio.get_running_loop().create_server(Echo, "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(_serve(int(sys.argv[1])))
