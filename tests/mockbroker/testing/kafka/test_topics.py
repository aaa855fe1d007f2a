"""A topic of a Kafka cluster."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from mockbroker import TopicError, WaitTimeoutError

if TYPE_CHECKING:
    from mockbroker import Kafka, MockBroker


def test_what_is_put_is_what_is_read_here_and_there(broker: MockBroker, kafka: Kafka) -> None:
    topic = kafka.topic("orders")
    at = topic.put(b"\xff", key="k", headers={"h": "1", "null": None}, timestamp=7, partition=1)
    assert at == ("orders", 1, 0, 7)
    assert broker.topic("orders").put("by key", key="k").partition == topic.put("2", key="k")[1]
    assert topic.records() == broker.topic("orders").records()
    assert topic.end_offsets() == broker.topic("orders").end_offsets()
    assert len(topic.records(partition=1)) == topic.end_offsets()[1]


def test_topics_are_made_described_and_deleted(broker: MockBroker, kafka: Kafka) -> None:
    topic = kafka.topic("t").create(3, config={"retention.ms": "60000"})
    assert (topic.exists, topic.partitions, topic.config) == (True, 3, {"retention.ms": "60000"})
    assert kafka.topics() == ["orders", "t"]
    with pytest.raises(TopicError, match="already exists"):
        topic.create()
    topic.put("x")
    topic.delete_records()
    assert topic.records() == []
    topic.delete()
    assert (topic.exists, topic.partitions, topic.records()) == (False, 0, [])
    assert broker.topics() == ["orders"]
    with pytest.raises(TopicError, match="no topic 't'; topics: orders"):
        topic.delete()


def test_a_wait_reads_what_is_new_or_shows_what_there_is(kafka: Kafka) -> None:
    topic = kafka.topic("orders")
    topic.put_all([json.dumps(number) for number in range(3)])
    found = topic.wait_for(2, decode=json.loads, where=lambda record: record.value != 1)
    assert sorted(record.value for record in found) == [0, 2]
    with pytest.raises(WaitTimeoutError, match=r"there are 3 that count, 3 in all\n  Record"):
        topic.wait_for(4, 0.1)
    with pytest.raises(WaitTimeoutError, match="there is no topic 'nope'; topics: orders"):
        kafka.topic("nope").wait_for(1, 0)
    assert kafka.topics() == ["orders"]


async def test_coroutines_have_the_same(kafka: Kafka) -> None:
    topic = kafka.aio.topic("orders")
    assert (await topic.put("one")).offset == 0
    assert len(await topic.wait_for(1)) == 1
