"""A producer gives up, though its broker answers. Why? docs/failed-tests.md looks."""

import pytest
from confluent_kafka import Producer

from mockbroker import MockBroker


@pytest.fixture
def bootstrap(mockbroker: MockBroker) -> str:
    """Of three brokers, during maintenance."""
    config = {"min.insync.replicas": "2"}
    mockbroker.topic("orders").create(1, replication_factor=3, config=config)
    for node_id in (2, 3):
        mockbroker.cluster.kill(node_id)
    return mockbroker.bootstrap_servers


@pytest.mark.mockbroker(brokers=3)
def test_an_order_is_sent(bootstrap: str) -> None:
    told: list[str] = []
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "client.id": "shop",
            "acks": "all",
            "message.timeout.ms": 3000,
        }
    )
    producer.produce("orders", "tea", on_delivery=lambda error, _: told.append(str(error)))
    producer.flush(30)
    assert told == ["None"]
