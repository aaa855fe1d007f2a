"""confluent-kafka, which is librdkafka, brings the workload through."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import confluent_kafka
import pytest
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from mockbroker import MockBroker
from tests.clients.workload import (
    HEARTBEAT_MS,
    MAX_POLL_RECORDS,
    PARTITIONS,
    Read,
    Sent,
    check,
    make_records,
    run_group,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

pytestmark = [pytest.mark.clients, pytest.mark.timeout(120)]

REBALANCED = (
    confluent_kafka.KafkaError.REBALANCE_IN_PROGRESS,
    confluent_kafka.KafkaError.ILLEGAL_GENERATION,
    confluent_kafka.KafkaError.UNKNOWN_MEMBER_ID,
)


class GroupMember:
    def __init__(
        self, bootstrap: str, topic: str, group: str, on_assignment: Callable[[set[int]], None]
    ) -> None:
        self.topic = topic
        self.on_assignment = on_assignment
        self.consumer = confluent_kafka.Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": group,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "heartbeat.interval.ms": HEARTBEAT_MS,
            }
        )
        self.batch: list[Read] = []
        self.consumer.subscribe([topic], on_assign=self.on_assign, on_revoke=self.on_revoke)

    def on_assign(self, _: object, partitions: list[confluent_kafka.TopicPartition]) -> None:
        self.on_assignment({partition.partition for partition in partitions})

    def on_revoke(self, _consumer: object, _partitions: object) -> None:
        self.batch.clear()
        self.on_assignment(set())

    def poll(self, timeout_s: float) -> list[Read]:
        """One message a call: a revocation is served between two, and forgets those before it.

        They may not be committed after it, since whoever has the partition then reads them too.
        """
        self.batch = []
        message = self.consumer.poll(timeout_s)
        while message is not None:
            self.batch.append(as_read(message))
            full = len(self.batch) == MAX_POLL_RECORDS
            message = None if full else self.consumer.poll(0)
        return self.batch

    def commit(self) -> bool:
        ends = {read.partition: read.offset + 1 for read in self.batch}
        offsets = [confluent_kafka.TopicPartition(self.topic, *end) for end in ends.items()]
        try:
            self.consumer.commit(offsets=offsets, asynchronous=False)
        except confluent_kafka.KafkaException as failure:
            if failure.args[0].code() in REBALANCED:
                return False
            raise
        return True

    def close(self) -> None:
        self.consumer.close()


def as_read(message: Any) -> Read:
    assert message.error() is None, message.error()
    kind, timestamp_ms = message.timestamp()
    assert kind == confluent_kafka.TIMESTAMP_CREATE_TIME
    return Read(
        message.partition(),
        message.offset(),
        timestamp_ms,
        message.key(),
        message.value(),
        tuple(message.headers() or ()),
    )


def produce(bootstrap: str, topic: str, compression: str, records: Sequence[Sent]) -> None:
    failures: list[Any] = []
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": bootstrap, "compression.type": compression, "linger.ms": 5}
    )
    for record in records:
        producer.produce(
            topic,
            value=record.value,
            key=record.key,
            headers=list(record.headers),
            timestamp=record.timestamp_ms,
            on_delivery=lambda error, _: failures.append(error) if error else None,
        )
        producer.poll(0)
    assert producer.flush(30) == 0
    assert failures == []


@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_a_group_reads_back_what_was_produced(
    server_process: str, topic: str, compression: str
) -> None:
    admin = AdminClient({"bootstrap.servers": server_process})
    admin.create_topics([NewTopic(topic, PARTITIONS, 1)])[topic].result(10)
    group = f"{topic}-readers"
    tally = run_group(
        make_records(int(time.time() * 1000)),
        lambda on_assignment: GroupMember(server_process, topic, group, on_assignment),
        lambda records: produce(server_process, topic, compression, records),
    )
    reader = confluent_kafka.Consumer({"bootstrap.servers": server_process, "group.id": group})
    partitions = [confluent_kafka.TopicPartition(topic, index) for index in range(PARTITIONS)]
    ends = {p.partition: reader.get_watermark_offsets(p, timeout=60)[1] for p in partitions}
    committed = {p.partition: p.offset for p in reader.committed(partitions, timeout=60)}
    check(tally, ends, committed)
    reader.close()


def test_an_idempotent_producer_goes_on_after_the_end_of_a_scope() -> None:
    """What a service that lives as long as the tests has: its sequences are never taken back."""
    with MockBroker(topics={"orders": 1}) as broker:
        conf = {"bootstrap.servers": broker.bootstrap_servers, "enable.idempotence": True}
        producer = confluent_kafka.Producer(conf)
        failed: list[object] = []

        def send(count: int) -> None:
            for number in range(count):
                producer.produce("orders", str(number), on_delivery=lambda e, _: failed.append(e))
            assert producer.flush(30) == 0

        send(1)
        for count in (5, 3):
            with broker.scope():
                send(count)
                assert len(broker.topic("orders").records()) == 1 + count
        send(1)
        assert failed == [None] * 10
        assert [record.value for record in broker.topic("orders").records()] == [b"0", b"0"]
