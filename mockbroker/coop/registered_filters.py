"""Filters of keys that RegisterKeyRangeFilter has set, by client id or for one connection.

Memory of one node: gone when it starts anew and when a scope ends; a connection's with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mockbroker.coop.in_use import InUse
    from mockbroker.coop.key_filter import KeyFilter

    Filters = dict[tuple[str, int], KeyFilter]
    Client = str | int

MOST_PARTITIONS: Final = 10_000
"""That clients of one node have filters for."""


class RegisteredFilters:
    """A client is a client id, or the id of a connection."""

    def __init__(self, in_use: InUse) -> None:
        self._in_use = in_use
        self._by_client: dict[Client, Filters] = {}
        self.partitions = 0
        """For which there is a filter, counted for each client."""

    def register(self, client: Client, filters: Filters) -> bool:
        """These and no others from now on; False, and nothing changed, if they are too many."""
        grown = len(filters) - len(self._by_client.get(client, ()))
        if grown > 0 and self.partitions + grown > MOST_PARTITIONS:
            return False
        self.partitions += grown
        if filters:
            self._by_client[client] = filters
        else:
            self._by_client.pop(client, None)
        if self._in_use.filters != bool(self._by_client):
            self._in_use.filters = bool(self._by_client)
            self._in_use.look()
        return True

    def of(self, client_id: str, connection_id: int) -> Iterator[tuple[tuple[str, int], KeyFilter]]:
        """The filters of a fetch; of one partition the connection's comes last, and counts."""
        if self._by_client:
            for client in (client_id, connection_id):
                yield from self._by_client.get(client, {}).items()

    def disconnected(self, connection_id: int) -> None:
        """A connection has gone."""
        self.register(connection_id, {})

    def clear(self) -> None:
        """Forget all of them."""
        self._by_client.clear()
        self.partitions = 0
