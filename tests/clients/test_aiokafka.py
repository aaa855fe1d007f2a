"""aiokafka brings the workload through, its members being tasks of one event loop."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import pytest
from aiokafka import (
    AIOKafkaConsumer,
    AIOKafkaProducer,
    ConsumerRebalanceListener,
    TopicPartition,
)
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import CommitFailedError, IllegalStateError

from tests.clients.workload import (
    DEADLINE_S,
    HEARTBEAT_MS,
    MAX_POLL_RECORDS,
    MEMBERS,
    PARTITIONS,
    Read,
    Sent,
    Tally,
    check,
    make_records,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

pytestmark = [pytest.mark.clients, pytest.mark.timeout(120)]

CREATE_TIME = 0
POLL_MS = 250


def as_read(record: Any) -> Read:
    return Read(
        record.partition,
        record.offset,
        record.timestamp,
        record.key,
        record.value,
        tuple(record.headers),
    )


class Listener(ConsumerRebalanceListener):  # type: ignore[misc]
    """Tells of assignments; a rebalance runs in the background, and `getmany` waits for it."""

    def __init__(self, tally: Tally, index: int) -> None:
        self.tally = tally
        self.index = index

    async def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
        del revoked
        self.tally.note_assignment(self.index, set())

    async def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
        self.tally.note_assignment(self.index, {partition.partition for partition in assigned})


async def run_member(
    tally: Tally, index: int, topic: str, stable: asyncio.Event, consumer: AIOKafkaConsumer
) -> None:
    consumer.subscribe([topic], listener=Listener(tally, index))
    await consumer.start()
    try:
        while not tally.is_done() and not tally.is_to_leave(index):
            tally.note_committed(await read_and_commit(consumer))
            if tally.was_stable:
                stable.set()
    finally:
        await consumer.stop()
    if index == 0:
        tally.note_left()


async def read_and_commit(consumer: AIOKafkaConsumer) -> list[Read]:
    batches = await consumer.getmany(timeout_ms=POLL_MS, max_records=MAX_POLL_RECORDS)
    if not batches or not await commit(consumer, batches):
        return []
    return [as_read(record) for records in batches.values() for record in records]


async def commit(consumer: AIOKafkaConsumer, batches: dict[TopicPartition, list[Any]]) -> bool:
    """False: a rebalance took the partitions away between the poll and the commit."""
    ends = {partition: records[-1].offset + 1 for partition, records in batches.items() if records}
    try:
        await consumer.commit(ends)
    except (CommitFailedError, IllegalStateError):
        return False
    return True


async def produce(
    bootstrap: str, topic: str, compression: str | None, records: Sequence[Sent]
) -> None:
    async with AIOKafkaProducer(
        bootstrap_servers=bootstrap, compression_type=compression, linger_ms=5
    ) as producer:
        futures = [
            await producer.send(
                topic,
                value=record.value,
                key=record.key,
                headers=list(record.headers),
                timestamp_ms=record.timestamp_ms,
            )
            for record in records
        ]
        # Its metadata has the timestamp of the batch, so the readers check that of the record.
        for metadata in await asyncio.gather(*futures):
            assert metadata.timestamp_type == CREATE_TIME


def make_consumer(bootstrap: str, group: str) -> AIOKafkaConsumer:
    return AIOKafkaConsumer(
        bootstrap_servers=bootstrap,
        group_id=group,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        heartbeat_interval_ms=HEARTBEAT_MS,
    )


async def run_members(bootstrap: str, topic: str, compression: str | None, tally: Tally) -> None:
    stable = asyncio.Event()
    async with asyncio.timeout(DEADLINE_S), asyncio.TaskGroup() as members:
        for index in range(MEMBERS):
            consumer = make_consumer(bootstrap, f"{topic}-readers")
            members.create_task(run_member(tally, index, topic, stable, consumer))
        await stable.wait()
        await produce(bootstrap, topic, compression, tally.records)


@pytest.mark.parametrize("compression", [None, "gzip", "snappy", "lz4", "zstd"])
async def test_a_group_reads_back_what_was_produced(
    server_process: str, topic: str, compression: str | None
) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=server_process)
    await admin.start()
    await admin.create_topics([NewTopic(topic, PARTITIONS, 1)])
    await admin.close()
    tally = Tally(make_records(int(time.time() * 1000)))
    await run_members(server_process, topic, compression, tally)
    partitions = [TopicPartition(topic, index) for index in range(PARTITIONS)]
    reader = make_consumer(server_process, f"{topic}-readers")
    await reader.start()
    ends = await reader.end_offsets(partitions)
    committed = {p.partition: await reader.committed(p) for p in partitions}
    await reader.stop()
    check(tally, {p.partition: end for p, end in ends.items()}, committed)
