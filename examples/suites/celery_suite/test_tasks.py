"""With pytest and a real worker that forks two processes: `pytest` in this folder."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

import pytest
import tasks
from celery.contrib.testing.worker import start_worker

from mockbroker import MockBroker

pytestmark = pytest.mark.mockbroker_topics(invoices=2)


@pytest.fixture
def worker(mockbroker: MockBroker, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    # What the forked processes inherit; the broker itself stays in this one.
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", mockbroker.bootstrap_servers)
    with start_worker(tasks.app, pool="prefork", concurrency=2, perform_ping_check=False):
        yield


@pytest.mark.usefixtures("worker")
def test_each_invoice_is_told_once_by_some_process(mockbroker: MockBroker) -> None:
    for order in range(10):
        tasks.render.delay(order)
    told = mockbroker.topic("invoices").wait_for(10, decode=json.loads)
    assert sorted(record.value["order"] for record in told) == list(range(10))
    assert os.getpid() not in {record.value["pid"] for record in told}


def test_a_task_fails_when_the_broker_refuses(
    mockbroker: MockBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", mockbroker.bootstrap_servers)
    tasks.producer.cache_clear()
    mockbroker.faults.add({"api": "Produce", "error": "TOPIC_AUTHORIZATION_FAILED"})
    # Called as it is, a task runs here and now.
    with pytest.raises(RuntimeError, match="the invoice 7 was not told"):
        tasks.render(7)
    tasks.producer.cache_clear()
