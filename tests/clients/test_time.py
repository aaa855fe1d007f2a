"""Long time-outs in milliseconds, met by real clients: sessions, retention, transactions."""

from __future__ import annotations

import asyncio
import time
from datetime import timedelta
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaError

from mockbroker import MockBroker

pytestmark = [
    pytest.mark.clients,
    pytest.mark.timeout(120),
    pytest.mark.filterwarnings("ignore:(read|open)_text is deprecated"),  # by kafka-python
]

DAY_MS = 86_400_000
AT_ONCE_SECONDS = 60.0
"""A day that passes in real time would not fit; a busy machine does."""


def test_a_session_of_a_day_times_out_at_once() -> None:
    from kafka import KafkaConsumer

    config = {"group.max.session.timeout.ms": DAY_MS}
    with MockBroker(topics=["orders"], config=config) as broker:
        consumer: Any = KafkaConsumer(
            bootstrap_servers=broker.bootstrap_servers,
            group_id="daily",
            session_timeout_ms=DAY_MS,
            heartbeat_interval_ms=DAY_MS // 3,
            max_poll_interval_ms=DAY_MS,
            request_timeout_ms=DAY_MS + 1_000,
            connections_max_idle_ms=DAY_MS + 2_000,
        )
        consumer.subscribe(["orders"])
        deadline = time.monotonic() + 60
        # A poll shorter than joining takes may lose the assignment: docs/faults.md.
        while not consumer.assignment() and time.monotonic() < deadline:
            consumer.poll(timeout_ms=1_000)
        broker.clock.freeze()
        broker.clock.advance(timedelta(hours=23))
        assert len(broker.group("daily").members()) == 1
        started = time.monotonic()
        broker.clock.advance(timedelta(hours=1, seconds=1))
        assert broker.group("daily").members() == []
        assert time.monotonic() - started < AT_ONCE_SECONDS
        consumer.close()


async def test_records_are_gone_when_their_seven_days_are_over() -> None:
    async with MockBroker(topics=["orders"]) as broker:
        bootstrap = broker.bootstrap_servers
        async with AIOKafkaProducer(bootstrap_servers=bootstrap) as producer:
            await producer.send_and_wait("orders", b"value")
        partition = TopicPartition("orders", 0)
        async with AIOKafkaConsumer(bootstrap_servers=bootstrap) as consumer:
            broker.clock.advance(timedelta(days=6))
            assert await consumer.beginning_offsets([partition]) == {partition: 0}
            started = time.monotonic()
            broker.clock.advance(timedelta(days=1, minutes=10))
            assert time.monotonic() - started < AT_ONCE_SECONDS
            assert await consumer.beginning_offsets([partition]) == {partition: 1}


async def test_a_transaction_is_aborted_when_its_quarter_of_an_hour_is_over() -> None:
    async with MockBroker(topics=["orders"]) as broker:
        producer = AIOKafkaProducer(
            bootstrap_servers=broker.bootstrap_servers,
            transactional_id="tx",
            transaction_timeout_ms=900_000,
        )
        await producer.start()
        await producer.begin_transaction()
        await producer.send_and_wait("orders", b"value")
        started = time.monotonic()
        broker.clock.advance(timedelta(minutes=15, seconds=11))
        assert time.monotonic() - started < AT_ONCE_SECONDS
        with pytest.raises(KafkaError):
            await producer.commit_transaction()
        await asyncio.wait_for(producer.stop(), 30)
