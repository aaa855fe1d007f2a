"""An idle consumer of every partition of a topic, by one of the Python clients.

    python -m scripts.bench.idle_consumer CLIENT HOST:PORT TOPIC PARTITIONS MAX_WAIT_MS

Started by `wire` as a process of its own and ended by it. CLIENT: aiokafka, kafka-python or
confluent-kafka; its name is its client id.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Final

POLL_SECONDS: Final = 0.1


def aiokafka(bootstrap: str, topic: str, partitions: int, max_wait_ms: int) -> None:
    from aiokafka import AIOKafkaConsumer, TopicPartition

    async def consume() -> None:
        consumer = AIOKafkaConsumer(
            bootstrap_servers=bootstrap,
            client_id="aiokafka",
            fetch_max_wait_ms=max_wait_ms,
            auto_offset_reset="earliest",
        )
        await consumer.start()
        consumer.assign([TopicPartition(topic, index) for index in range(partitions)])
        while True:
            await consumer.getmany(timeout_ms=int(POLL_SECONDS * 1000))

    asyncio.run(consume())


def kafka_python(bootstrap: str, topic: str, partitions: int, max_wait_ms: int) -> None:
    from kafka import KafkaConsumer, TopicPartition

    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap,
        client_id="kafka-python",
        fetch_max_wait_ms=max_wait_ms,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )
    consumer.assign([TopicPartition(topic, index) for index in range(partitions)])
    while True:
        consumer.poll(timeout_ms=int(POLL_SECONDS * 1000))


def confluent_kafka(bootstrap: str, topic: str, partitions: int, max_wait_ms: int) -> None:
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "client.id": "confluent-kafka",
            "group.id": "idle",
            "fetch.wait.max.ms": max_wait_ms,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        }
    )
    consumer.assign([TopicPartition(topic, index, 0) for index in range(partitions)])
    while True:
        consumer.poll(POLL_SECONDS)


CLIENTS: Final = {
    "aiokafka": aiokafka,
    "kafka-python": kafka_python,
    "confluent-kafka": confluent_kafka,
}


def main() -> None:
    client, bootstrap, topic, partitions, max_wait_ms = sys.argv[1:]
    CLIENTS[client](bootstrap, topic, int(partitions), int(max_wait_ms))


if __name__ == "__main__":
    main()
