"""Answers that clients do not read, over all connections of a broker.

A connection that does not read is worked for no more (`transport` pauses, `node.connection`
blocks), but what it was answered before waits in this process. `socket_server` tells here who
stopped to read; when all of them hold more than `mockbroker.unread.answers.max.bytes`, the one with
the most is ended: nobody else has to pay for it.

Invariants: `total` is the sum of what the connections that do not read were found to hold; one that
reads again, or is gone, holds nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from mockbroker.journal import ConnectionRefused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mockbroker.config.broker import BrokerConfig
    from mockbroker.node.broker import Broker

LIMIT: Final = "mockbroker.unread.answers.max.bytes"


class Writer(Protocol):
    """What writes to a client."""

    @property
    def unread_bytes(self) -> int:
        """What waits for the client to read."""

    def abort(self) -> None:
        """Close now and drop what was not sent."""


class UnreadAnswers:
    """Of the connections that do not read, by their number, how many bytes wait for them."""

    __slots__ = ("_config", "_waiting", "total")

    def __init__(self, config: BrokerConfig) -> None:
        self._config = config
        self._waiting: dict[int, int] = {}
        self.total = 0

    def stopped(self, connection_id: int, transports: Mapping[int, Writer], broker: Broker) -> None:
        """A client of `broker` reads no more; it, or another one, may be cut off."""
        self._look(connection_id, transports)
        limit = self._config.int(LIMIT)
        if self.total > limit:
            for each in list(self._waiting):
                self._look(each, transports)
        while self.total > limit:
            greedy = max(self._waiting, key=self._waiting.__getitem__)
            reason = f"{LIMIT}: it left {self._waiting[greedy]} bytes unread"
            self.goes_on(greedy)
            transport, conn = transports.get(greedy), broker.connection(greedy)
            if transport is not None and conn is not None:
                broker.connections_refused += 1
                broker.journal.record(
                    ConnectionRefused(conn.peer, conn.listener, reason, broker.broker_id)
                )
                conn.close(reason)
                transport.abort()

    def goes_on(self, connection_id: int) -> None:
        """It reads again, or is gone."""
        self.total -= self._waiting.pop(connection_id, 0)

    def forget_all(self) -> None:
        """All of them are gone."""
        self._waiting.clear()
        self.total = 0

    def _look(self, connection_id: int, transports: Mapping[int, Writer]) -> None:
        self.goes_on(connection_id)
        transport = transports.get(connection_id)
        if transport is not None:
            self._waiting[connection_id] = transport.unread_bytes
            self.total += transport.unread_bytes
