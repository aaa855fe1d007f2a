"""Ranges of offsets that are committed with the transaction of an aiokafka producer.

The producer's own messages hold positions only. So the group is added to its transaction here, and
ranges are sent under its id and epoch; its commit makes them count, its abort takes them back.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple

from mockbroker.coop import tags
from mockbroker.coop.commit_tags import commit_fields
from mockbroker.coop_client.brokers import BACKOFF_SECONDS
from mockbroker.coop_client.errors import RefusedError
from mockbroker.coop_client.offsets import STALE, StaleError
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.transactions import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from aiokafka import AIOKafkaProducer

    from mockbroker.coop.tags import Identity
    from mockbroker.coop_client.brokers import Brokers
    from mockbroker.coop_client.reading import TopicPartition


class Transaction(NamedTuple):
    """Of a producer, as its coordinator knows it."""

    id: str
    producer_id: int
    epoch: int


async def add_group(brokers: Brokers, group_id: str, producer: AIOKafkaProducer) -> Transaction:
    """Make a group part of a producer's transaction, which its coordinator ends there too.

    Raises ValueError if the producer is in none.
    """
    manager = producer._txn_manager  # noqa: SLF001 -- aiokafka tells its id and epoch nowhere else
    if manager is None or not manager.transactional_id or not manager.is_in_transaction():
        raise ValueError("the producer is in no transaction")
    transaction = Transaction(manager.transactional_id, manager.producer_id, manager.producer_epoch)
    request = AddOffsetsToTxnRequest(*transaction, group_id)
    while True:
        response = await brokers.ask_coordinator(
            request, AddOffsetsToTxnResponse, lambda told: (told.error_code,), transaction.id
        )
        if response.error_code != ErrorCode.CONCURRENT_TRANSACTIONS:
            break
        await asyncio.sleep(BACKOFF_SECONDS)  # the transaction before is not over yet
    if response.error_code:
        raise RefusedError(f"group {group_id} in {transaction.id}", response.error_code)
    manager.consumer_group_added(group_id)  # so that it has something to end
    return transaction


async def stage_ranges(
    brokers: Brokers,
    group_id: str,
    ranges: Mapping[TopicPartition, tuple[int, Sequence[tuple[int, int]]]],
    transaction: Transaction,
    who: Identity,
    *,
    only_committed: bool,
) -> None:
    """Let ranges, beside the stable offset known of each partition, count with the transaction.

    Raises StaleError, and RefusedError if one is committed or in another transaction already.
    """
    topics: dict[str, TxnOffsetCommitRequestTopic] = {}
    for place, (stable, offsets) in ranges.items():
        part = TxnOffsetCommitRequestPartition(place.partition, stable, -1, None)
        tags.tag(part, commit_fields(offsets, read_committed=only_committed))
        topics.setdefault(place.topic, TxnOffsetCommitRequestTopic(place.topic)).partitions.append(
            part
        )
    request = TxnOffsetCommitRequest(
        transaction.id,
        group_id,
        transaction.producer_id,
        transaction.epoch,
        who.generation,
        who.member,
        who.instance,
        list(topics.values()),
    )
    response = await brokers.ask_coordinator(request, TxnOffsetCommitResponse, _codes)
    codes = {one.error_code for topic in response.topics for one in topic.partitions}
    codes.discard(ErrorCode.NONE)
    if codes & STALE:
        raise StaleError(min(codes & STALE))
    if codes:
        raise RefusedError(f"ranges of {group_id} in {transaction.id}", min(codes))


def _codes(response: TxnOffsetCommitResponse) -> Iterator[int]:
    for topic in response.topics:
        yield from (one.error_code for one in topic.partitions)
