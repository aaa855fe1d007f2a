"""The service's port to confluent-kafka."""

from __future__ import annotations

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from tests.sample_service.service import GROUP, ORDERS, FencedError, Order, RetriableError

TIMEOUT_SECONDS = 20.0
FENCED = (KafkaError._FENCED, KafkaError.INVALID_PRODUCER_EPOCH, KafkaError.PRODUCER_FENCED)


class ConfluentPort:
    def __init__(self, bootstrap_servers: str, instance: str) -> None:
        common: dict[str, str | int] = {"bootstrap.servers": bootstrap_servers}
        common |= {"client.id": instance}
        common |= {"retry.backoff.ms": 20, "reconnect.backoff.ms": 20}
        # With rebootstrap the coordinator of send_offsets_to_transaction stays one that was given
        # up with its connection, and the call never returns (librdkafka issues 5511 and 5456).
        common |= {"metadata.recovery.strategy": "none"}
        self._consumer = Consumer(
            {
                **common,
                "group.id": GROUP,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                "heartbeat.interval.ms": 200,
                "session.timeout.ms": 10_000,
                "fetch.wait.max.ms": 50,
            }
        )
        self._consumer.subscribe([ORDERS])
        self._producer = Producer(
            {**common, "transactional.id": instance, "transaction.timeout.ms": 60_000}
        )
        self._producer.init_transactions(TIMEOUT_SECONDS)
        self._open = False

    def poll(self, seconds: float) -> Order | None:
        message = self._consumer.poll(seconds)
        if message is None or message.error() is not None:
            return None
        partition, offset, value = message.partition(), message.offset(), message.value()
        assert partition is not None
        assert offset is not None
        assert value is not None
        return Order(partition, offset, message.key(), value)

    def begin(self) -> None:
        self._producer.begin_transaction()
        self._open = True

    def send(self, topic: str, key: bytes | None, value: bytes, reason: str | None) -> None:
        headers: list[tuple[str, str | bytes | None]] = []
        if reason is not None:
            headers.append(("reason", reason))
        self._producer.produce(topic, value, key, headers=headers)

    def commit(self, order: Order) -> None:
        offsets = [TopicPartition(ORDERS, order.partition, order.offset + 1)]
        try:
            group = self._consumer.consumer_group_metadata()
            self._producer.send_offsets_to_transaction(offsets, group, TIMEOUT_SECONDS)
            self._producer.commit_transaction(TIMEOUT_SECONDS)
            self._open = False
        except KafkaException as error:
            self._give_up(order, error)

    def _give_up(self, order: Order, error: KafkaException) -> None:
        self._open = False
        if error.args[0].code() in FENCED:
            raise FencedError(str(error)) from error
        try:
            self._producer.abort_transaction(TIMEOUT_SECONDS)
        except KafkaException as late:
            raise FencedError(str(late)) from late
        assigned = {(one.topic, one.partition) for one in self._consumer.assignment()}
        if (ORDERS, order.partition) in assigned:
            self._consumer.seek(TopicPartition(ORDERS, order.partition, order.offset))
        raise RetriableError(str(error)) from error

    def close(self) -> None:
        self._consumer.close()
        if self._open:
            self._producer.purge()
