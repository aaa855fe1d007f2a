"""Takes payment for orders: with confluent-kafka."""

from __future__ import annotations

import json
from time import monotonic
from typing import TYPE_CHECKING

from confluent_kafka import Consumer, Producer

if TYPE_CHECKING:
    from names import Names


class Payments:
    """Approves orders up to a limit; what cannot be read goes to the rejected ones."""

    def __init__(self, bootstrap_servers: str, names: Names, limit: float = 100.0) -> None:
        self._names = names
        self._limit = limit
        self._producer = Producer(
            {"bootstrap.servers": bootstrap_servers, "linger.ms": 0, "enable.idempotence": True}
        )
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap_servers,
                "group.id": names.group("payments"),
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "topic.metadata.refresh.interval.ms": 500,
            }
        )
        self._consumer.subscribe([names.orders])

    def work(self, count: int, seconds: float = 30.0) -> int:
        """Handle so many orders, or as many as come in this time; returns how many came."""
        handled = 0
        deadline = monotonic() + seconds
        while handled < count and monotonic() < deadline:
            message = self._consumer.poll(0.1)
            if message is None or message.error() is not None:
                continue
            self._handle(message.key(), message.value())
            self._consumer.commit(message, asynchronous=False)
            handled += 1
        return handled

    def _handle(self, key: bytes | None, value: bytes | None) -> None:
        try:
            order = json.loads(value or b"")
            approved = order["amount"] <= self._limit
            payment = {"order": order["id"], "approved": approved, "amount": order["amount"]}
        except (ValueError, KeyError, TypeError) as error:
            self._producer.produce(
                self._names.rejected, value, key, headers=[("why", type(error).__name__.encode())]
            )
        else:
            self._producer.produce(self._names.payments, json.dumps(payment).encode(), key)
        if self._producer.flush(30):
            raise TimeoutError("a payment was not written")

    def close(self) -> None:
        """Leave the group."""
        self._consumer.close()
