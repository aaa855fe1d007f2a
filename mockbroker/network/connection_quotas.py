"""How many connections a broker takes (Kafka: SocketServer.ConnectionQuotas).

`socket_server` asks before it lets a client in: `max.connections.per.ip` and its overrides, where a
client more is sent away at once, and `max.connections`, where it waits until another one leaves.

Invariant: a connection that was counted is counted once, until `left`.
"""

from __future__ import annotations

import socket
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mockbroker.config.broker import BrokerConfig


class ConnectionQuotas:
    """The limits of one broker, and who is connected to it."""

    def __init__(self, config: BrokerConfig) -> None:
        self._config = config
        self._by_address: Counter[str] = Counter()
        self._overrides_text = ""
        self._overrides: dict[str, int] = {}

    @property
    def connected(self) -> int:
        """How many there are."""
        return self._by_address.total()

    def refusal(self, address: str) -> str | None:
        """Why a client from there is sent away; None: it is not."""
        limit = self._limit(address)
        if self._by_address[address] < limit:
            return None
        return f"max.connections.per.ip: {address} has {limit} connections"

    @property
    def full(self) -> bool:
        """Whether a client that connects has to wait."""
        return self.connected >= self._config.int("max.connections")

    def joined(self, address: str) -> None:
        """A client was let in."""
        self._by_address[address] += 1

    def left(self, address: str) -> None:
        """It has gone."""
        self._by_address[address] -= 1
        if not self._by_address[address]:
            del self._by_address[address]

    def _limit(self, address: str) -> int:
        text = self._config.str("max.connections.per.ip.overrides")
        if text != self._overrides_text:
            self._overrides_text = text
            self._overrides = _overrides(text)
        return self._overrides.get(address, self._config.int("max.connections.per.ip"))


def _overrides(text: str) -> dict[str, int]:
    """The limits of single addresses; one that cannot be read is none (hosts by their address)."""
    limits: dict[str, int] = {}
    for part in text.split(","):
        host, _, limit = part.strip().rpartition(":")
        if not host or not limit.isdigit():
            continue
        try:
            limits[socket.gethostbyname(host)] = int(limit)
        except OSError:
            limits[host] = int(limit)
    return limits
