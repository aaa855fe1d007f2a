"""A topic over the admin API."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from mockbroker import TopicError, WaitTimeoutError
from mockbroker.state.writing import NewRecord
from mockbroker.testing.remote import topics

if TYPE_CHECKING:
    from pathlib import Path

    from mockbroker import MockBroker
    from mockbroker.testing.remote.broker import RemoteBroker


def test_what_is_put_is_what_is_read_here_and_there(
    broker: MockBroker, remote: RemoteBroker
) -> None:
    topic = remote.topic("orders")
    at = topic.put(b"\xff\x00", key="k", headers={"h": "1", "null": None}, timestamp=7, partition=1)
    assert at == ("orders", 1, 0, 7)
    assert [one.offset for one in topic.put_all([None, "text"])] == [0, 1]
    assert topic.records() == broker.topic("orders").records()
    assert topic.records(partition=1)[0].header("h") == b"1"
    assert topic.end_offsets() == broker.topic("orders").end_offsets() == {0: 2, 1: 1}


def test_topics_are_made_described_and_deleted(remote: RemoteBroker) -> None:
    topic = remote.topic("t").create(3, replication_factor=1, config={"retention.ms": "1"})
    assert (topic.exists, topic.partitions, topic.config) == (True, 3, {"retention.ms": "1"})
    assert remote.topics() == ["orders", "t"]
    with pytest.raises(TopicError, match="already exists"):
        topic.create()
    topic.put("x")
    topic.delete_records()
    assert topic.records() == []
    topic.delete()
    assert (topic.exists, topic.partitions, topic.config, topic.records()) == (False, 0, {}, [])
    with pytest.raises(TopicError, match="no topic 't'; topics: orders"):
        topic.delete()


def test_a_wait_reads_what_is_new_and_pages(
    broker: MockBroker, remote: RemoteBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topics, "_PAGE", 2)
    monkeypatch.setattr(topics, "_PUT_VALUES", 15)
    topic = remote.topic("orders")
    topic.put_all([json.dumps(number) for number in range(5)])
    found = topic.wait_for(3, decode=json.loads, where=lambda record: record.value != 2)
    assert sorted(record.value for record in found) == [0, 1, 3, 4]
    reader = topics.RemoteReader("orders", decode_key=bytes.decode)
    assert len(reader.read(remote._caller.source)) == 5
    broker.topic("orders").put("5", key="k")
    assert [one.key for one in reader.read(remote._caller.source)].count("k") == 1
    broker.topic("orders").delete()
    broker.topic("orders").create(1)
    assert reader.read(remote._caller.source) == []


def test_a_wait_in_vain_shows_what_there_is(remote: RemoteBroker) -> None:
    with pytest.raises(WaitTimeoutError, match="there is no topic 'nope'; topics: orders"):
        remote.topic("nope").wait_for(1, 0)
    remote.topic("orders").put("one")
    with pytest.raises(WaitTimeoutError, match=r"there are 0 that count, 1 in all\n  Record"):
        remote.topic("orders").wait_for(1, 0, where=lambda _: False)
    with pytest.raises(ValueError, match="isolation"):
        remote.topic("orders").records(isolation="read")


def test_a_file_is_loaded(remote: RemoteBroker, tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text('{"id": 1}\n{"id": 2}\n')
    assert len(remote.topic("orders").load(file, key="id")) == 2


async def test_coroutines_have_the_same(remote: RemoteBroker) -> None:
    topic = remote.aio.topic("orders")
    assert (await topic.put("one")).offset == 0
    assert len(await topic.wait_for(1)) == 1
    assert await topic.exists()


def test_what_is_put_goes_in_as_many_requests_as_limits_want(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    records = [NewRecord(b"x" * size) for size in (1, 4, 10, 1, 1)]
    assert [len(part) for part in topics._parts(records)] == [5]
    monkeypatch.setattr(topics, "_PUT_BYTES", 5)
    assert [len(part) for part in topics._parts(records)] == [2, 1, 2]
    monkeypatch.setattr(topics, "_PUT_VALUES", 15)
    headed = [NewRecord(None, headers=[("h", None)] * 2)] * 3
    assert [len(part) for part in topics._parts(headed)] == [1, 1, 1]
    assert [*topics._parts([])] == []
