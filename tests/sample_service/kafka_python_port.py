"""The service's port to kafka-python."""

from __future__ import annotations

from typing import Any

from kafka import KafkaConsumer, KafkaProducer, OffsetAndMetadata, TopicPartition
from kafka.errors import (
    InvalidProducerEpochError,
    KafkaError,
    ProducerFencedError,
)

from tests.sample_service.service import GROUP, ORDERS, FencedError, Order, RetriableError

TIMEOUT_MS = 20_000
FENCED = (ProducerFencedError, InvalidProducerEpochError)


class KafkaPythonPort:
    def __init__(self, bootstrap_servers: str, instance: str) -> None:
        common: dict[str, Any] = {
            "bootstrap_servers": bootstrap_servers,
            "client_id": instance,
            "retry_backoff_ms": 20,
            "reconnect_backoff_ms": 20,
        }
        self._consumer = KafkaConsumer(
            ORDERS,
            **common,
            group_id=GROUP,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            isolation_level="read_committed",
            heartbeat_interval_ms=200,
            session_timeout_ms=10_000,
            fetch_max_wait_ms=50,
            max_poll_records=1,
        )
        self._producer = KafkaProducer(
            **common, transactional_id=instance, transaction_timeout_ms=60_000
        )
        self._producer.init_transactions()
        self._sent: list[object] = []

    def poll(self, seconds: float) -> Order | None:
        for records in self._consumer.poll(int(seconds * 1000), max_records=1).values():
            for record in records:
                return Order(record.partition, record.offset, record.key, record.value)
        return None

    def begin(self) -> None:
        self._sent.clear()
        self._producer.begin_transaction()

    def send(self, topic: str, key: bytes | None, value: bytes, reason: str | None) -> None:
        headers = [("reason", reason.encode())] if reason is not None else []
        self._sent.append(self._producer.send(topic, value, key, headers))

    def commit(self, order: Order) -> None:
        partition = TopicPartition(ORDERS, order.partition)
        offsets = {partition: OffsetAndMetadata(order.offset + 1, "", -1)}
        try:
            self._producer.send_offsets_to_transaction(offsets, self._consumer.group_metadata())
            self._producer.commit_transaction()
        except FENCED as error:
            raise FencedError(repr(error)) from error
        except KafkaError as error:
            self._give_up(order, error)

    def _give_up(self, order: Order, error: KafkaError) -> None:
        try:
            self._producer.abort_transaction()
        except KafkaError as late:
            raise FencedError(repr(late)) from late
        partition = TopicPartition(ORDERS, order.partition)
        if partition in self._consumer.assignment():
            self._consumer.seek(partition, order.offset)
        raise RetriableError(repr(error)) from error

    def close(self) -> None:
        self._consumer.close()
        self._producer.close(timeout=1)
