"""Clients for the soak: blocking, over TCP.

`Wire` has what the core's client of the tests has, so their scripts of groups and transactions run
against a server too. `hostile` is a process of its own that sends wrong bytes until it is ended.
"""

from __future__ import annotations

import socket
import struct
import sys
from random import Random
from typing import TYPE_CHECKING

from tests.support.blocking import BlockingConnection

if TYPE_CHECKING:
    from collections.abc import Sequence

# What these change, everybody feels: quotas, configs, leaders, the brokers themselves.
FELT_BY_ALL = frozenset({27, 33, 43, 44, 45, 49, 51, 57, 64, 67})


class Wire(BlockingConnection):
    """One connection of a client with an id of its own."""

    def __init__(self, address: str, client_id: str) -> None:
        super().__init__(address)
        self._client_id = client_id

    def send(self, request: object, version: int, client_id: str | None = None) -> None:
        """Send a request message."""
        super().send(request, version, client_id or self._client_id)


class WireCore:
    """Where the tests' scripts get their clients: those of one round, closed at its end."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._wires: list[Wire] = []

    def client(self, client_id: str = "soak") -> Wire:
        """One connection more."""
        wire = Wire(self._address, client_id)
        self._wires.append(wire)
        return wire

    def close(self) -> None:
        """Hang up all of them."""
        for wire in self._wires:
            wire.close()
        self._wires.clear()


def hostile(addresses: Sequence[tuple[str, int]], seed: int) -> None:
    """Send wrong bytes to the brokers in turn, a few hundred frames a second, for ever."""
    import select
    import time

    from tests.support.hostile import hostile_bytes, seeds

    rng = Random(seed)
    requests = [one for one in seeds() if struct.unpack_from(">h", one)[0] not in FELT_BY_ALL]
    strangers: list[socket.socket | None] = [None] * (4 * len(addresses))
    while True:
        at = rng.randrange(len(strangers))
        stranger = strangers[at]
        try:
            if stranger is None or rng.random() < 0.01:
                if stranger is not None:
                    stranger.close()
                strangers[at] = None
                stranger = socket.create_connection(addresses[at % len(addresses)], 5.0)
                stranger.setblocking(False)
                strangers[at] = stranger
            stranger.send(b"".join(hostile_bytes(rng, requests) for _ in range(rng.randrange(8))))
            while select.select([stranger], [], [], 0)[0]:
                if not stranger.recv(1 << 16):
                    raise ConnectionResetError
        except OSError:
            if stranger is not None:
                stranger.close()
            strangers[at] = None
        time.sleep(0.01)


if __name__ == "__main__":
    hostile([("127.0.0.1", int(port)) for port in sys.argv[2:]], int(sys.argv[1]))
