"""Ranges that count when a producer's transaction is committed."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
from aiokafka import AIOKafkaProducer

from mockbroker.coop.tags import Identity
from mockbroker.coop_client import NotInGroupError, RefusedError, SharedConsumer, TopicPartition
from mockbroker.coop_client.offsets import StaleError
from mockbroker.coop_client.share import Committed
from mockbroker.coop_client.transactions import add_group, stage_ranges
from mockbroker_protocol.errors import ErrorCode
from tests.support.sharing import Links

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mockbroker import MockBroker

T0 = TopicPartition("t", 0)


@asynccontextmanager
async def producing(broker: MockBroker, name: str = "tx") -> AsyncIterator[AIOKafkaProducer]:
    async with AIOKafkaProducer(
        bootstrap_servers=broker.bootstrap_servers, transactional_id=name
    ) as producer:
        yield producer


@asynccontextmanager
async def member(broker: MockBroker) -> AsyncIterator[SharedConsumer]:
    async with SharedConsumer(
        broker.bootstrap_servers, group_id="g", topics=["t"], auto_offset_reset="earliest"
    ) as consumer:
        yield consumer


async def test_ranges_count_when_the_transaction_is_committed(broker: MockBroker) -> None:
    async with member(broker) as consumer, producing(broker) as producer:
        records = await consumer.poll(5, 6)
        async with producer.transaction():
            await producer.send("t", b"made of them")
            await consumer.send_to_transaction(producer, records[2:4])
            await consumer.send_to_transaction(producer, records[5:6])
            assert broker.group("g").committed() == {("t", 0): 0}
        assert await consumer.committed(T0) == Committed(0, ((2, 3), (5, 5)))


async def test_a_transaction_of_ranges_alone_ends_too(broker: MockBroker) -> None:
    async with member(broker) as consumer, producing(broker) as producer:
        records = await consumer.poll(5, 3)
        async with producer.transaction():
            await consumer.send_to_transaction(producer, [])
            await consumer.send_to_transaction(producer, records)
        assert await consumer.committed(T0) == Committed(3, ())


async def test_ranges_of_an_aborted_transaction_do_not_count(broker: MockBroker) -> None:
    async with member(broker) as consumer, producing(broker) as producer:
        records = await consumer.poll(5, 3)
        await producer.begin_transaction()
        await consumer.send_to_transaction(producer, records)
        await producer.abort_transaction()
        assert await consumer.committed(T0) == Committed(0, ())


async def test_what_another_transaction_has_is_refused(broker: MockBroker) -> None:
    async with (
        member(broker) as consumer,
        producing(broker) as one,
        producing(broker, "other") as other,
    ):
        records = await consumer.poll(5, 3)
        await one.begin_transaction()
        await other.begin_transaction()
        await consumer.send_to_transaction(one, records[1:2])
        with pytest.raises(RefusedError) as caught:
            await consumer.send_to_transaction(other, records)
        assert caught.value.code == ErrorCode.TRANSACTION_ABORTABLE
        await other.abort_transaction()
        await one.commit_transaction()
        assert await consumer.committed(T0) == Committed(0, ((1, 1),))


async def test_who_is_in_no_transaction_commits_with_none(broker: MockBroker) -> None:
    async with member(broker) as consumer, producing(broker) as producer:
        records = await consumer.poll(5, 3)
        with pytest.raises(ValueError, match="in no transaction"):
            await consumer.send_to_transaction(producer, records)


async def test_records_of_before_a_rebalance_are_somebody_elses(broker: MockBroker) -> None:
    async with member(broker) as consumer, producing(broker) as producer:
        (record,) = await consumer.poll(5, 1)
        async with producer.transaction():
            with pytest.raises(NotInGroupError):
                await consumer.send_to_transaction(producer, [record._replace(turn=0)])


async def test_a_generation_that_is_over_is_stale(links: Links, broker: MockBroker) -> None:
    link = await links.to(broker)
    async with member(broker) as consumer, producing(broker) as producer:
        await consumer.poll(5, 1)
        await producer.begin_transaction()
        transaction = await add_group(link, "g", producer)
        gone = Identity("g", "nobody", 7, None)
        with pytest.raises(StaleError) as caught:
            await stage_ranges(
                link, "g", {T0: (0, [(0, 0)])}, transaction, gone, only_committed=False
            )
        assert caught.value.code == ErrorCode.UNKNOWN_MEMBER_ID
        await producer.abort_transaction()


async def test_a_producer_that_is_fenced_adds_no_group(links: Links, broker: MockBroker) -> None:
    link = await links.to(broker)
    async with producing(broker) as old:
        await old.begin_transaction()
        async with producing(broker):
            with pytest.raises(RefusedError):
                await add_group(link, "g", old)
        await old.abort_transaction()
