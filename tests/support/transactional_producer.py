"""A confluent-kafka producer whose transaction is open."""

from __future__ import annotations

from confluent_kafka import Producer

TIMEOUT_SECONDS = 20.0


def with_open_transaction(bootstrap_servers: str) -> Producer:
    """Producer "tx" that has written one record to orders-1.

    What it logs of brokers that go is not shown.
    """
    producer = Producer(
        {"bootstrap.servers": bootstrap_servers, "transactional.id": "tx", "log_level": 2}
    )
    producer.init_transactions(TIMEOUT_SECONDS)
    producer.begin_transaction()
    producer.produce("orders", b"a", partition=1)
    producer.flush(TIMEOUT_SECONDS)
    return producer
