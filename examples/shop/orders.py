"""Takes orders: with kafka-python."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from kafka import KafkaProducer

if TYPE_CHECKING:
    from names import Names


class Orders:
    """Writes each order that makes sense, under its customer's name."""

    def __init__(self, bootstrap_servers: str, names: Names) -> None:
        self._names = names
        self._producer = KafkaProducer(
            bootstrap_servers=bootstrap_servers, acks="all", retries=20, retry_backoff_ms=50
        )

    def place(self, order_id: str, customer: str, amount: float, trace: str = "") -> None:
        """Write it, and wait until it is safe. Raises ValueError for an order without sense."""
        if not order_id or not customer:
            raise ValueError("an order has an id and a customer")
        if not 0 < amount < float("inf"):
            raise ValueError(f"an order of {amount} is none")
        order = {"id": order_id, "customer": customer, "amount": amount}
        headers = [("trace", trace.encode())] if trace else []
        self._producer.send(
            self._names.orders,
            json.dumps(order).encode(),
            key=customer.encode(),
            headers=headers,
        ).get(30)

    def close(self) -> None:
        """Let the connections go."""
        self._producer.close()
