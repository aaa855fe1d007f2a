"""A topic filled, and read to its end, by a client that shares no code with the pipeline."""

from __future__ import annotations

from typing import Any, NamedTuple

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

DEADLINE_SECONDS = 20.0


class Record(NamedTuple):
    """A record as librdkafka hands it out; `timestamp` in ms."""

    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]


def produce(
    bootstrap: str,
    topic: str,
    values: list[bytes],
    *,
    keys: list[bytes] | None = None,
    partition: int | None = None,
    timestamps: list[int] | None = None,
    headers: list[tuple[str, bytes]] | None = None,
    config: dict[str, str] | None = None,
) -> None:
    """Send the values one after the other and wait until all are there."""
    conf = {"bootstrap.servers": bootstrap, "partitioner": "murmur2_random", **(config or {})}
    producer = Producer(conf)
    for number, value in enumerate(values):
        producer.produce(
            topic,
            value,
            keys[number] if keys else None,
            partition=-1 if partition is None else partition,
            timestamp=0 if timestamps is None else timestamps[number],
            headers=dict(headers or []),
        )
    assert producer.flush(DEADLINE_SECONDS) == 0


def _record(message: Any) -> Record:
    return Record(
        message.partition(),
        message.offset(),
        message.timestamp()[1],
        message.key(),
        message.value(),
        list(message.headers() or []),
    )


def consume(bootstrap: str, topic: str) -> list[Record]:
    """All records of a topic, each partition's in order; committed ones only."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "whole-topics",
            "enable.auto.commit": "false",
            "auto.offset.reset": "earliest",
            "enable.partition.eof": "true",
        }
    )
    try:
        partitions = consumer.list_topics(topic, DEADLINE_SECONDS).topics[topic].partitions
        consumer.assign([TopicPartition(topic, p, 0) for p in partitions])
        records: list[Record] = []
        open_partitions = set(partitions)
        while open_partitions:
            message = consumer.poll(DEADLINE_SECONDS)
            assert message is not None, f"{topic} did not end: {open_partitions}"
            error = message.error()
            if error is not None:
                assert error.code() == KafkaError._PARTITION_EOF, error
                open_partitions.discard(int(message.partition() or 0))
                continue
            records.append(_record(message))
        return sorted(records, key=lambda record: (record.partition, record.offset))
    finally:
        consumer.close()
