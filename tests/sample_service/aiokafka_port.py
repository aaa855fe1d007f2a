"""The service's port to aiokafka: its coroutines run in a loop in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, TypeVar

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaError, ProducerFenced

from tests.sample_service.service import GROUP, ORDERS, FencedError, Order, RetriableError

if TYPE_CHECKING:
    from collections.abc import Coroutine

T = TypeVar("T")
TIMEOUT_SECONDS = 20.0


class AiokafkaPort:
    def __init__(self, bootstrap_servers: str, instance: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._do(self._start(bootstrap_servers, instance))

    def _do(self, coroutine: Coroutine[object, object, T]) -> T:
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        return future.result(TIMEOUT_SECONDS)

    async def _start(self, bootstrap_servers: str, instance: str) -> None:
        self._consumer = AIOKafkaConsumer(
            ORDERS,
            bootstrap_servers=bootstrap_servers,
            client_id=instance,
            group_id=GROUP,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            isolation_level="read_committed",
            heartbeat_interval_ms=200,
            session_timeout_ms=10_000,
            fetch_max_wait_ms=50,
            retry_backoff_ms=20,
        )
        self._producer = AIOKafkaProducer(
            bootstrap_servers=bootstrap_servers,
            client_id=instance,
            transactional_id=instance,
            transaction_timeout_ms=60_000,
            retry_backoff_ms=20,
        )
        await self._producer.start()
        await self._consumer.start()

    def poll(self, seconds: float) -> Order | None:
        return self._do(self._poll(seconds))

    async def _poll(self, seconds: float) -> Order | None:
        batch = await self._consumer.getmany(timeout_ms=int(seconds * 1000), max_records=1)
        for records in batch.values():
            for record in records:
                return Order(record.partition, record.offset, record.key, record.value)
        return None

    def begin(self) -> None:
        self._do(self._producer.begin_transaction())

    def send(self, topic: str, key: bytes | None, value: bytes, reason: str | None) -> None:
        headers = [("reason", reason.encode())] if reason is not None else []
        self._do(self._send(topic, key, value, headers))

    async def _send(
        self, topic: str, key: bytes | None, value: bytes, headers: list[tuple[str, bytes]]
    ) -> None:
        self._sent = await self._producer.send(topic, value, key, headers=headers)

    def commit(self, order: Order) -> None:
        self._do(self._commit(order))

    async def _commit(self, order: Order) -> None:
        partition = TopicPartition(ORDERS, order.partition)
        try:
            await self._sent
            await self._producer.send_offsets_to_transaction({partition: order.offset + 1}, GROUP)
            await self._producer.commit_transaction()
        except ProducerFenced as error:
            raise FencedError(repr(error)) from error
        except KafkaError as error:
            try:
                await self._producer.abort_transaction()
            except KafkaError as late:
                raise FencedError(repr(late)) from late
            if partition in self._consumer.assignment():
                self._consumer.seek(partition, order.offset)
            raise RetriableError(repr(error)) from error

    def close(self) -> None:
        self._do(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(TIMEOUT_SECONDS)
        self._loop.close()

    async def _close(self) -> None:
        await self._consumer.stop()
        await self._producer.stop()
