"""What the shop tells the world: one producer a process, made at the first event."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from django.conf import settings
from kafka import KafkaProducer
from kafka.errors import KafkaError


@cache
def _producer(bootstrap_servers: str) -> KafkaProducer:
    return KafkaProducer(bootstrap_servers=bootstrap_servers, acks="all")


def publish(topic: str, key: str, event: dict[str, Any]) -> None:
    """Send it, and wait until it is written."""
    producer = _producer(settings.KAFKA["bootstrap_servers"])
    try:
        producer.send(topic, json.dumps(event).encode(), key.encode()).get(10)
    except KafkaError:
        # An idempotent producer that failed refuses all that comes after it.
        _producer.cache_clear()
        producer.close(timeout=1)
        raise
