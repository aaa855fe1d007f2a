"""A topic seen from a test: blocking from any thread, and awaited."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import TYPE_CHECKING

import pytest

from mockbroker import MockBroker
from mockbroker.state.writing import NewRecord, TopicError
from mockbroker.testing import topic_view
from mockbroker.testing.bridge import WaitTimeoutError
from mockbroker_protocol.messages.produce import (
    ProduceRequest,
    ProduceRequestPartition,
    ProduceRequestTopic,
    ProduceResponse,
)
from mockbroker_protocol.records.batch import build_batch
from mockbroker_protocol.records.record_codec import Record
from tests.support.blocking import BlockingConnection

if TYPE_CHECKING:
    from pathlib import Path


def produce(bootstrap: str, topic: str, value: bytes) -> None:
    """As a client, over TCP."""
    records = build_batch([Record(0, 1, None, value)])
    data = ProduceRequestTopic(name=topic, partition_data=[ProduceRequestPartition(0, records)])
    request = ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[data])
    with BlockingConnection(bootstrap) as client:
        answer = client.call(request, 9, ProduceResponse)
    assert answer.responses[0].partition_responses[0].error_code == 0


def test_what_a_client_produces_is_seen() -> None:
    with MockBroker(topics={"orders": 1}) as broker:
        produce(broker.bootstrap_servers, "orders", b'{"id": 1}')
        (record,) = broker.topic("orders").records(decode=json.loads)
        assert record.value == {"id": 1}
        assert broker.topic("orders").end_offsets() == {0: 1}


def test_a_wait_ends_with_the_record_that_a_client_produces() -> None:
    with MockBroker(topics={"orders": 1}) as broker:
        topic = broker.topic("orders")
        topic.put("one")
        client = threading.Thread(target=produce, args=(broker.bootstrap_servers, "orders", b"two"))
        client.start()
        assert [record.value for record in topic.wait_for(2)] == [b"one", b"two"]
        client.join()
        found = topic.wait_for(1, 0, where=lambda record: record.value == b"two")
        assert [record.offset for record in found] == [1]


def test_a_wait_in_vain_shows_what_there_is() -> None:
    with MockBroker(topics={"orders": 1}) as broker:
        topic = broker.topic("orders")
        topic.put("one", key="k")
        with pytest.raises(WaitTimeoutError) as caught:
            topic.wait_for(1, 0.01, where=lambda record: record.value == b"two")
        assert str(caught.value).startswith(
            "waited 0.01 s for 1 record(s) in topic orders: there are 0 that count, 1 in all\n"
            "  Record(topic='orders', partition=0, offset=0, "
        )
        with pytest.raises(WaitTimeoutError, match="there is no topic 'payments'; topics: orders"):
            broker.topic("payments").wait_for(1, 0)


def test_a_topic_that_is_not_there_yet_is_waited_for() -> None:
    with MockBroker() as broker:
        topic = broker.topic("orders")
        assert (topic.exists, topic.partitions, topic.records()) == (False, 0, [])
        producing = threading.Timer(0, lambda: broker.topic("orders").put("one"))
        producing.start()
        assert topic.wait_for(1)[0].value == b"one"
        producing.join()
        assert broker.topics() == ["orders"]


def test_configs_of_a_topic_may_be_numbers_truth_values_and_lists() -> None:
    config = {
        "retention.ms": 1000,
        "preallocate": True,
        "cleanup.policy": ["compact", "delete"],
    }
    with MockBroker() as broker:
        assert broker.topic("orders").create(1, config=config).config == {
            "retention.ms": "1000",
            "preallocate": "true",
            "cleanup.policy": "compact,delete",
        }


def test_topics_are_made_and_deleted() -> None:
    with MockBroker() as broker:
        topic = broker.topic("orders").create(3, config={"retention.ms": "1000"})
        assert (topic.exists, topic.partitions) == (True, 3)
        assert topic.config == {"retention.ms": "1000"}
        topic.put_all(["a", "b", "c"])
        assert topic.end_offsets() == {0: 1, 1: 1, 2: 1}
        topic.delete_records()
        assert topic.records() == []
        topic.delete()
        assert broker.topics() == []
        with pytest.raises(TopicError, match="no topic 'orders'; topics: none"):
            topic.delete()
        assert repr(topic) == "TopicView('orders')"


async def test_in_the_callers_loop_it_is_awaited() -> None:
    async with MockBroker() as broker:
        topic = await broker.aio.topic("orders").create(2)
        waiting = asyncio.ensure_future(topic.wait_for(3, decode=bytes.decode))
        await topic.put("one", headers={"a": "1"})
        await topic.put_all(["two", "three"])
        assert sorted(record.value for record in await waiting) == ["one", "three", "two"]
        assert broker.topic("orders").records(partition=0)[0].header("a") == b"1"
        assert len(await topic.records()) == 3
        with pytest.raises(RuntimeError, match=r"await the same of `broker\.aio`"):
            broker.topic("orders").wait_for(1)
        await topic.delete_records()
        assert await topic.end_offsets() == {0: 2, 1: 1}
        await topic.delete()
        assert broker.topics() == []


async def test_a_broker_in_a_thread_is_awaited_from_another_loop() -> None:
    with MockBroker() as broker:
        waiting = asyncio.ensure_future(broker.aio.topic("orders").wait_for(1))
        await broker.aio.topic("orders").put("one")
        assert [record.value for record in await waiting] == [b"one"]
        with pytest.raises(WaitTimeoutError):
            await broker.aio.topic("orders").wait_for(2, 0)


def test_a_file_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "orders.jsonl"
    path.write_text('{"id": 7}\n{"id": 8}\n')
    with MockBroker() as broker:
        positions = broker.topic("orders").load(path, key="id")
        assert [position.offset for position in positions] == [0, 1]
        assert [record.key for record in broker.topic("orders").records()] == [b"7", b"8"]


def test_a_record_put_into_a_new_topic_waits_for_its_leader() -> None:
    with MockBroker(brokers=3) as broker:
        for index in range(20):
            topic = broker.topic(f"new-{index}")
            assert topic.put("one").offset == 0
            assert [position.offset for position in topic.put_all(["two"])] == [1]


def test_a_new_topic_whose_leader_does_not_hear_of_it_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(topic_view, "DEFAULT_TIMEOUT_SECONDS", 0.01)
    with MockBroker(brokers=3, config={"default.replication.factor": "1"}) as broker:
        for node in (1, 2, 3):
            broker.cluster.hold_link(broker.cluster.CONTROLLER, node)
        with pytest.raises(WaitTimeoutError, match="new was made, but no broker leads"):
            broker.topic("new").put("one")


async def test_a_record_is_put_into_a_new_topic_from_the_brokers_own_loop() -> None:
    async with MockBroker(brokers=3) as broker:
        assert (await broker.aio.topic("new").put("one")).offset == 0
        assert broker.topic("other").put("one").offset == 0


def test_a_record_put_into_a_new_topic_is_there_when_a_slow_leader_has_heard_of_it() -> None:
    with MockBroker(brokers=3) as broker:
        for node in (1, 2, 3):
            broker.cluster.slow_link(broker.cluster.CONTROLLER, node, seconds=0.01)
        assert broker.topic("new").put("one").offset == 0


def test_a_dict_is_put_as_json_and_many_records_have_keys_headers_and_partitions() -> None:
    with MockBroker(topics={"orders": 3}) as broker:
        topic = broker.topic("orders")
        topic.put({"id": 7, "name": "ä"}, key="7")
        topic.put([1, None], partition=1)
        values = {record.value for record in topic.records()}
        assert values == {'{"id": 7, "name": "ä"}'.encode(), b"[1, null]"}
        topic.delete_records()
        positions = topic.put_all(
            [{"id": 1}, {"id": 2}, NewRecord(b"own", b"key", (), None, 0)],
            key=lambda value: str(value["id"]),
            headers={"from": "test"},
            timestamp=5,
            partition=2,
        )
        assert [position.partition for position in positions] == [2, 2, 0]
        own, one, two = topic.records()
        assert (own.key, own.value, own.headers) == (b"key", b"own", [])
        assert (one.key, one.value, one.timestamp) == (b"1", b'{"id": 1}', 5)
        assert (two.key, two.headers) == (b"2", [("from", b"test")])
        with pytest.raises(TypeError, match="value: Object of type set is not JSON serializable"):
            topic.put({"id": {1}})
