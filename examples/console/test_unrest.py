"""Parcels are never all sent: the group rebalances for ever. Why? docs/failed-tests.md looks."""

import json
import threading

import pytest
from confluent_kafka import Consumer

from mockbroker import MockBroker


def send_parcels(name: str, bootstrap: str, sent: list[int], stopped: threading.Event) -> None:
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "client.id": name,
            "group.id": "shipping",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "heartbeat.interval.ms": 100,
        }
    )
    consumer.subscribe(["parcels"])
    try:
        while not stopped.is_set():
            parcel = consumer.poll(0.1)
            if parcel is not None and parcel.error() is None:
                sent.append(json.loads(parcel.value() or b"")["id"])
                consumer.commit(parcel, asynchronous=False)
    finally:
        consumer.close()


def keep_running(name: str, bootstrap: str, sent: list[int], stopped: threading.Event) -> None:
    """As a supervisor does: what ended is started again."""
    while not stopped.wait(0.2):
        try:
            send_parcels(name, bootstrap, sent, stopped)
        except ValueError:
            continue


@pytest.mark.mockbroker_topics("parcels")
def test_all_parcels_are_sent(mockbroker: MockBroker) -> None:
    parcels = ['{"id": 1}', '{"id": 2}', '{"id": 3}', '{"id": 4', '{"id": 5}']
    for parcel in parcels:
        mockbroker.topic("parcels").put(parcel)
    sent: list[int] = []
    stopped = threading.Event()
    workers = [
        threading.Thread(
            target=keep_running, args=[name, mockbroker.bootstrap_servers, sent, stopped]
        )
        for name in ("worker-1", "worker-2")
    ]
    for worker in workers:
        worker.start()
    try:
        mockbroker.group("shipping").wait_committed({("parcels", 0): 5}, timeout=8)
    finally:
        stopped.set()
        for worker in workers:
            worker.join()
