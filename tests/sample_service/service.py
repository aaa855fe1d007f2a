"""A small service as many have one: orders in, invoices out, exactly once.

Each order is handled in a transaction: invoice and consumer's offset are committed together.
A handler that fails is tried again, and an order that keeps failing goes to the dead letters with
the reason in its headers. A transaction that fails is aborted, and its order is read again. What a
client library needs for that is `Port`; the ports stand beside.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

ORDERS = "orders"
INVOICES = "invoices"
DEAD_LETTERS = "orders.dead"
GROUP = "billing"
ATTEMPTS = 3


class Order(NamedTuple):
    """A record of topic orders."""

    partition: int
    offset: int
    key: bytes | None
    value: bytes


class RetriableError(Exception):
    """The transaction was aborted; read on from where the group has committed."""


class FencedError(Exception):
    """Another instance has taken over; this one must end."""


class Port(Protocol):
    """What the service wants of a client library. Raises RetriableError and FencedError."""

    def poll(self, seconds: float) -> Order | None:
        """The next order, if one comes in time."""

    def begin(self) -> None:
        """Begin a transaction."""

    def send(self, topic: str, key: bytes | None, value: bytes, reason: str | None) -> None:
        """Write a record in it."""

    def commit(self, order: Order) -> None:
        """Commit it together with the order's offset; aborted, if that fails."""

    def close(self) -> None:
        """Leave the group, and give up what is open."""


def total(order: dict[str, object]) -> dict[str, object]:
    """The invoice of an order. Raises ValueError for one that makes no sense."""
    amount, price = order["amount"], order["price"]
    if not isinstance(amount, int) or not isinstance(price, int) or amount < 1:
        message = f"order {order.get('id')}: nothing to pay"
        raise ValueError(message)
    return {"id": order["id"], "total": amount * price}


class Service:
    """Handles orders one at a time."""

    def __init__(
        self, port: Port, handle: Callable[[dict[str, object]], dict[str, object]] = total
    ) -> None:
        self._port = port
        self._handle = handle
        self.retries = 0
        self.aborted = 0

    def run_once(self, seconds: float = 0.2) -> bool:
        """Handle one order if one comes in time; whether one was handled."""
        order = self._port.poll(seconds)
        if order is None:
            return False
        try:
            self._port.begin()
            topic, value, reason = self._outcome(order)
            self._port.send(topic, order.key, value, reason)
            self._port.commit(order)
        except RetriableError:
            self.aborted += 1
            return False
        return True

    def _outcome(self, order: Order) -> tuple[str, bytes, str | None]:
        reason = ""
        for _ in range(ATTEMPTS):
            try:
                invoice = self._handle(json.loads(order.value))
            except (ValueError, KeyError) as error:
                reason = str(error)
                self.retries += 1
            else:
                return INVOICES, json.dumps(invoice).encode(), None
        return DEAD_LETTERS, order.value, reason

    def close(self) -> None:
        """End."""
        self._port.close()
