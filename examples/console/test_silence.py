"""A report reads nothing, though bookings are there. Why? docs/failed-tests.md looks."""

import pytest
from confluent_kafka import Consumer, Message, Producer

from mockbroker import MockBroker


class Bank:
    """Books each transfer as two entries, both or none."""

    def __init__(self, bootstrap: str) -> None:
        self.producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "client.id": "bank",
                "transactional.id": "bank-1",
            }
        )
        self.producer.init_transactions(30)

    def transfer(self, source: str, target: str, amount: int) -> None:
        self.producer.begin_transaction()
        self.producer.produce("ledger", f"{source} -{amount}")
        self.producer.flush(30)
        if target == source:
            return
        self.producer.produce("ledger", f"{target} +{amount}")
        self.producer.commit_transaction(30)


def deposit(bootstrap: str, account: str, amount: int) -> None:
    """A service of its own, without transactions."""
    producer = Producer({"bootstrap.servers": bootstrap, "client.id": "counter"})
    producer.produce("ledger", f"{account} +{amount}")
    producer.flush(30)


def next_booking(bootstrap: str) -> Message | None:
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "client.id": "report",
            "group.id": "report",
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe(["ledger"])
    try:
        return consumer.poll(5)
    finally:
        consumer.close()


@pytest.mark.mockbroker_topics("ledger")
def test_a_deposit_is_reported(mockbroker: MockBroker) -> None:
    Bank(mockbroker.bootstrap_servers).transfer("ann", "ann", 10)
    deposit(mockbroker.bootstrap_servers, "bob", 25)
    booking = next_booking(mockbroker.bootstrap_servers)
    assert booking is not None
    assert booking.value() == b"bob +25"
