"""Programs that move records from one topic to another, exactly once, until they are killed.

    python -m scripts.exactly_once_loops CLIENT BOOTSTRAP SOURCE TARGET ID

Each record goes to the partition that it came from, in one transaction with its offset; ID is the
group and the transactional id. What fails is done as the client's documentation says: a call that
may be repeated is repeated, a transaction that must be aborted is, then the positions are those
committed; after a fatal error there is a new producer and a new consumer. Prints what befalls it,
a line each. Run by scripts/exactly_once.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from contextlib import closing
from typing import TYPE_CHECKING

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka import TopicPartition as AioTopicPartition
from aiokafka.errors import KafkaError as AioKafkaError
from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition

if TYPE_CHECKING:
    from collections.abc import Callable

BATCH = 50
PARTITIONS = 3
CALL_S = 20.0
HANG_S = 40.0
"""Twice what a call is told to take: then it never returns (docs/faults.md has when)."""
TRANSACTION_TIMEOUT_MS = 10_000
HUNG = 3
"""Status of a program that ended itself because a call did not return."""


def tell(what: str) -> None:
    print(what, flush=True)


class Confluent:
    """One producer and consumer of librdkafka, until a fatal error."""

    def __init__(self, bootstrap: str, source: str, target: str, name: str) -> None:
        self.target = target
        self.producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "transactional.id": name,
                "transaction.timeout.ms": TRANSACTION_TIMEOUT_MS,
                "log_level": 0,
            }
        )
        # Before the committed offsets are asked for: it ends what a predecessor left open.
        self.call(self.producer.init_transactions, CALL_S)
        self.consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": name,
                "group.protocol": "consumer",
                "isolation.level": "read_committed",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "log_level": 0,
            }
        )
        self.consumer.subscribe([source])

    def run(self) -> None:
        """Move records until a fatal error."""
        while True:
            messages = [one for one in self.consumer.consume(BATCH, 0.2) if one.error() is None]
            if messages:
                try:
                    self.move(messages)
                except KafkaException as failure:
                    error = failure.args[0]
                    tell(f"{'fatal' if error.fatal() else 'aborted'} {error.name()}")
                    if error.fatal():
                        return
                    self.call(self.producer.abort_transaction, CALL_S)
                    self.go_back()

    def move(self, messages: list[Message]) -> None:
        producer = self.producer
        producer.begin_transaction()
        ends: dict[tuple[str, int], int] = {}
        for message in messages:
            topic, partition, offset = message.topic(), message.partition(), message.offset()
            assert topic is not None
            assert partition is not None
            assert offset is not None
            producer.produce(self.target, message.value(), partition=partition)
            ends[topic, partition] = offset + 1
        offsets = [TopicPartition(*place, end) for place, end in ends.items()]
        metadata = self.consumer.consumer_group_metadata()
        self.call(producer.send_offsets_to_transaction, offsets, metadata, CALL_S)
        self.call(producer.commit_transaction, CALL_S)

    def go_back(self) -> None:
        while True:
            try:
                for each in self.consumer.committed(self.consumer.assignment(), CALL_S):
                    each.offset = max(each.offset, 0)
                    self.consumer.seek(each)
            except KafkaException as failure:
                tell(f"committed {failure.args[0].name()}")
            else:
                return

    def call(self, function: Callable[..., object], *arguments: object) -> None:
        """A call of the producer, again while its error is retriable; one that hangs ends all."""
        while True:
            hung = threading.Timer(HANG_S, end, [f"hung {function.__name__}"])
            hung.daemon = True
            hung.start()
            try:
                function(*arguments)
            except KafkaException as failure:
                if not failure.args[0].retriable():
                    raise
                tell(f"again {function.__name__} {failure.args[0].name()}")
            else:
                return
            finally:
                hung.cancel()

    def close(self) -> None:
        self.consumer.close()


def end(why: str) -> None:
    tell(why)
    os._exit(HUNG)


def confluent(*arguments: str) -> None:
    while True:
        try:
            with closing(Confluent(*arguments)) as loop:
                loop.run()
        except KafkaException as failure:
            tell(f"anew {failure.args[0].name()}")


async def aio(bootstrap: str, source: str, target: str, name: str) -> None:
    while True:
        producer = AIOKafkaProducer(
            bootstrap_servers=bootstrap,
            transactional_id=name,
            transaction_timeout_ms=TRANSACTION_TIMEOUT_MS,
        )
        # Its transactions do not tell the generation of a group's member (KIP-447), so that who has
        # partitions from the group may move a record twice: these are assigned.
        consumer = AIOKafkaConsumer(
            bootstrap_servers=bootstrap,
            group_id=name,
            isolation_level="read_committed",
            auto_offset_reset="earliest",
            enable_auto_commit=False,
        )
        consumer.assign([AioTopicPartition(source, at) for at in range(PARTITIONS)])
        try:
            await producer.start()
            await consumer.start()
            while True:
                await aio_move(producer, consumer, target, name)
        except AioKafkaError as failure:
            tell(f"anew {type(failure).__name__}")
        finally:
            for one in (consumer, producer):
                try:
                    await asyncio.wait_for(one.stop(), CALL_S)
                except (AioKafkaError, TimeoutError) as failure:
                    tell(f"stop {type(failure).__name__}")


async def aio_move(
    producer: AIOKafkaProducer, consumer: AIOKafkaConsumer, target: str, name: str
) -> None:
    """One transaction. Raises what the producer does not outlive."""
    found = await consumer.getmany(timeout_ms=200, max_records=BATCH)
    if not found:
        return
    ends: dict[AioTopicPartition, int] = {}
    async with producer.transaction():
        for partition, records in found.items():
            for record in records:
                await producer.send(target, record.value, partition=partition.partition)
            ends[partition] = records[-1].offset + 1
        await producer.send_offsets_to_transaction(ends, name)


def main() -> None:
    client, *arguments = sys.argv[1:]
    if client == "confluent":
        confluent(*arguments)
    else:
        asyncio.run(aio(*arguments))


if __name__ == "__main__":
    main()
