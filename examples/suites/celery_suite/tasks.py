"""A worker that renders invoices, and tells of each."""

from __future__ import annotations

import json
import os
from functools import cache

from celery import Celery
from celery.signals import worker_process_init
from confluent_kafka import Producer

app = Celery("invoices", broker="memory://")


@cache
def producer() -> Producer:
    return Producer({"bootstrap.servers": os.environ["KAFKA_BOOTSTRAP_SERVERS"]})


@worker_process_init.connect
def forget_the_parents_producer(**_: object) -> None:
    """A forked worker has no threads of its parent, so no producer of its parent works there."""
    producer.cache_clear()


@app.task
def render(order: int) -> str:
    name = f"invoice-{order}.pdf"
    errors: list[object] = []
    producer().produce(
        "invoices",
        json.dumps({"order": order, "file": name, "pid": os.getpid()}).encode(),
        str(order),
        on_delivery=lambda error, _: error and errors.append(error),
    )
    producer().flush(10)
    if errors:
        raise RuntimeError(f"the invoice {order} was not told: {errors[0]}")
    return name
