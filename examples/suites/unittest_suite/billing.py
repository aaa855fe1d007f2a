"""A service that turns orders into invoices."""

from __future__ import annotations

import json
from typing import Any

from confluent_kafka import Consumer, Producer


class Billing:
    def __init__(self, bootstrap_servers: str) -> None:
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap_servers,
                "group.id": "billing",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
            }
        )
        self._consumer.subscribe(["orders"])
        self._producer = Producer({"bootstrap.servers": bootstrap_servers})

    def bill(self, orders: int) -> None:
        """Bill so many orders, and commit."""
        while orders:
            message = self._consumer.poll(1)
            if message is None or message.error():
                continue
            order: dict[str, Any] = json.loads(message.value() or b"")
            invoice = {"order": order["id"], "total": order["price"] * order["count"]}
            self._producer.produce("invoices", json.dumps(invoice).encode(), message.key())
            orders -= 1
        self._producer.flush(10)
        self._consumer.commit(asynchronous=False)

    def close(self) -> None:
        self._consumer.close()
