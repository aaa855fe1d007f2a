"""Writes ten orders, reads them back in a group, and says so: a stand-in for a real service."""

from __future__ import annotations

import json
import os
import sys

from kafka import KafkaConsumer, KafkaProducer

COUNT = 10
WAIT_MS = 10_000


def main() -> int:
    """0 when all came back."""
    bootstrap = os.environ.get("BOOTSTRAP_SERVERS", "localhost:29092")
    producer = KafkaProducer(
        bootstrap_servers=bootstrap, value_serializer=lambda order: json.dumps(order).encode()
    )
    for number in range(COUNT):
        producer.send("orders", {"id": number}, key=str(number).encode())
    producer.close()
    consumer = KafkaConsumer(
        "orders",
        bootstrap_servers=bootstrap,
        group_id="billing",
        auto_offset_reset="earliest",
        consumer_timeout_ms=WAIT_MS,
        value_deserializer=json.loads,
    )
    seen = set()
    for record in consumer:
        seen.add(record.value["id"])
        if len(seen) == COUNT:
            break
    consumer.close()
    print(f"{len(seen)} of {COUNT} orders went through {bootstrap}")
    return 0 if len(seen) == COUNT else 1


if __name__ == "__main__":
    sys.exit(main())
