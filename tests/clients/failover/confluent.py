"""confluent-kafka, which is librdkafka, under the scenarios of a failover."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import confluent_kafka

from tests.clients.failover.ledger import DEADLINE_S, GROUP, TOPIC, key_of
from tests.clients.failover.threads import ThreadedClient

if TYPE_CHECKING:
    from tests.clients.failover.teller import Teller

BATCH = 200
LOST_PARTITIONS = (
    confluent_kafka.KafkaError.REBALANCE_IN_PROGRESS,
    confluent_kafka.KafkaError.ILLEGAL_GENERATION,
    confluent_kafka.KafkaError.UNKNOWN_MEMBER_ID,
    confluent_kafka.KafkaError.STALE_MEMBER_EPOCH,
)


class Producer:
    """Ends for good when a log that was cut lacks its last sequence: then there is a new one."""

    def __init__(self, bootstrap: str, teller: Teller) -> None:
        self.bootstrap = bootstrap
        self.teller = teller
        self.producer = self._new()

    def _new(self) -> confluent_kafka.Producer:
        return confluent_kafka.Producer(
            {
                "bootstrap.servers": self.bootstrap,
                "enable.idempotence": True,
                "linger.ms": 2,
                "log_level": 0,
            }
        )

    def send(self, number: int) -> None:
        def delivered(
            error: confluent_kafka.KafkaError | None, message: confluent_kafka.Message
        ) -> None:
            if error is not None:
                self.teller.refuse(number, error.name())
                return
            partition, offset = message.partition(), message.offset()
            assert partition is not None
            assert offset is not None
            self.teller.acknowledge(number, partition, offset)

        record = TOPIC, str(number).encode(), key_of(number)
        while True:
            try:
                return self.producer.produce(*record, on_delivery=delivered)
            except confluent_kafka.KafkaException as failure:
                if failure.args[0].code() != confluent_kafka.KafkaError._FATAL:
                    raise
                self.poll(0.1)

    def poll(self, timeout_s: float = 0.0) -> None:
        """Raises nothing: a fatal error is raised here, once, before what was sent is refused."""
        try:
            self.producer.poll(timeout_s)
        except confluent_kafka.KafkaException as failure:
            if not failure.args[0].fatal():
                raise
            self._drain()
            self.producer = self._new()

    def flush(self) -> None:
        # Not its `flush`, which after a fatal error calls back while that is being raised.
        deadline = time.monotonic() + DEADLINE_S
        while len(self.producer) and time.monotonic() < deadline:
            self.poll(0.1)
        assert not len(self.producer)

    def _drain(self) -> None:
        self.producer.purge()
        while len(self.producer):
            self.producer.poll(0.1)

    def close(self) -> None:
        self.producer.purge()
        self.flush()


class Member:
    def __init__(
        self, bootstrap: str, teller: Teller, member: int, protocol: str, rack: str
    ) -> None:
        self.teller = teller
        self.member = member
        config: dict[str, str | int | bool] = {
            "bootstrap.servers": bootstrap,
            "client.id": f"member-{member}",
            "client.rack": rack,
            "group.id": GROUP,
            "group.protocol": protocol,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "fetch.wait.max.ms": 100,
            "log_level": 2,
        }
        if protocol == "classic":
            config["heartbeat.interval.ms"] = 300
        self.consumer = confluent_kafka.Consumer(config)
        self.batch: dict[int, int] = {}
        self.consumer.subscribe([TOPIC], on_revoke=self._revoked)

    def _revoked(self, _consumer: object, _partitions: object) -> None:
        # Whoever has them next reads what was not committed.
        self.batch.clear()

    def poll(self, timeout_s: float) -> dict[int, int]:
        self.batch = {}
        message = self.consumer.poll(timeout_s)
        taken = 0
        while message is not None:
            error = message.error()
            assert error is None or error.retriable(), error
            partition, offset, value = message.partition(), message.offset(), message.value()
            if error is None and partition is not None and offset is not None and value is not None:
                self.teller.read(self.member, partition, offset, int(value))
                self.batch[partition] = offset + 1
            taken += 1
            message = None if taken == BATCH else self.consumer.poll(0)
        return self.batch

    def commit(self, ends: dict[int, int]) -> bool:
        offsets = [confluent_kafka.TopicPartition(TOPIC, *end) for end in ends.items()]
        try:
            self.consumer.commit(offsets=offsets, asynchronous=False)
        except confluent_kafka.KafkaException as failure:
            error = failure.args[0]
            if error.code() in LOST_PARTITIONS or error.retriable():
                return False
            raise
        return True

    def close(self) -> None:
        self.consumer.close()


def make_client(bootstrap: str, teller: Teller, protocol: str, rack: str = "") -> ThreadedClient:
    return ThreadedClient(
        teller,
        lambda: Producer(bootstrap, teller),
        lambda member: Member(bootstrap, teller, member, protocol, rack),
    )
