"""Orders are invoiced twice once a second worker runs. Why? docs/failed-tests.md looks."""

import threading
import time
from collections import Counter

import pytest
from confluent_kafka import Consumer, KafkaException

from mockbroker import MockBroker

SETTINGS = {
    "group.id": "billing",
    "auto.offset.reset": "earliest",
    "enable.auto.commit": False,
    "session.timeout.ms": 5000,
    "heartbeat.interval.ms": 100,
    "max.poll.interval.ms": 5000,
}


class Worker:
    """Takes what there is, invoices each order, and commits."""

    def __init__(
        self, name: str, bootstrap: str, invoices: list[bytes | None], seconds_each: float = 0
    ) -> None:
        self.consumer = Consumer(SETTINGS | {"bootstrap.servers": bootstrap, "client.id": name})
        self.invoices = invoices
        self.seconds_each = seconds_each

    def run(self, stopped: threading.Event) -> None:
        self.consumer.subscribe(["orders"])
        while not stopped.is_set():
            orders = [one for one in self.consumer.consume(10, 0.2) if one.error() is None]
            for order in orders:
                time.sleep(self.seconds_each)
                self.invoices.append(order.value())
            try:
                if orders:
                    self.consumer.commit(asynchronous=False)
            except KafkaException:
                pass  # it is tried again with the next ones
        self.consumer.close()


@pytest.mark.mockbroker(config={"group.min.session.timeout.ms": 100})
def test_each_order_is_invoiced_once(mockbroker: MockBroker) -> None:
    orders = mockbroker.topic("orders")
    orders.put_all(["tea", "milk", "rice", "salt"])
    invoices: list[bytes | None] = []
    stopped = threading.Event()
    slow = Worker("worker-1", mockbroker.bootstrap_servers, invoices, seconds_each=2)
    quick = Worker("worker-2", mockbroker.bootstrap_servers, invoices)
    threads = [
        threading.Thread(target=worker.run, args=[stopped], daemon=True) for worker in (slow, quick)
    ]
    try:
        threads[0].start()
        while not invoices:
            time.sleep(0.05)
        threads[1].start()
        mockbroker.group("billing").wait_caught_up(timeout=30)
    finally:
        stopped.set()
        for thread in threads:
            thread.join()
    assert Counter(invoices) == Counter([b"tea", b"milk", b"rice", b"salt"])
