"""Records put into a topic without a producer."""

from __future__ import annotations

import pytest

from mockbroker.state.reading import TopicReader
from mockbroker.state.writing import (
    NewRecord,
    TopicError,
    create_topic,
    delete_records,
    delete_topic,
    put,
    to_bytes,
    to_headers,
)
from tests.support.inside import make_cluster

NOW_MS = 1_700_000_000_000


def test_a_record_gets_the_next_offset_and_the_time() -> None:
    cluster = make_cluster({"orders": 1})
    first, second = put(cluster, "orders", [NewRecord(b"one"), NewRecord(b"two", timestamp=5)])
    assert first == ("orders", 0, 0, NOW_MS)
    assert second == ("orders", 0, 1, 5)
    assert put(cluster, "orders", [NewRecord(None, b"k")])[0].offset == 2


def test_the_topics_own_time_wins() -> None:
    cluster = make_cluster()
    create_topic(cluster, "orders", 1, configs={"message.timestamp.type": "LogAppendTime"})
    assert put(cluster, "orders", [NewRecord(b"one", timestamp=5)])[0].timestamp == NOW_MS


def test_a_key_decides_the_partition_as_in_kafka() -> None:
    cluster = make_cluster({"orders": 6})
    positions = put(cluster, "orders", [NewRecord(b"", b"foobar"), NewRecord(b"", b"21")])
    assert [one.partition for one in positions] == [
        (-790332482 & 0x7FFFFFFF) % 6,
        (-973932308 & 0x7FFFFFFF) % 6,
    ]


def test_without_a_key_partitions_fill_evenly() -> None:
    cluster = make_cluster({"orders": 3})
    put(cluster, "orders", [NewRecord(b"x", partition=0)])
    positions = put(cluster, "orders", [NewRecord(b"x") for _ in range(5)])
    assert [one.partition for one in positions] == [1, 2, 0, 1, 2]


def test_many_records_keep_their_order() -> None:
    cluster = make_cluster({"orders": 1})
    values = [b"%d" % number for number in range(1203)]
    positions = put(cluster, "orders", [NewRecord(value) for value in values])
    assert [one.offset for one in positions] == list(range(1203))
    assert [record.value for record in TopicReader("orders").read(cluster)] == values


def test_a_topic_is_made_where_the_broker_makes_topics() -> None:
    cluster = make_cluster()
    assert put(cluster, "orders", [NewRecord(b"one")])[0].partition == 0
    strict = make_cluster({"payments": 1}, {"auto.create.topics.enable": "false"})
    with pytest.raises(TopicError, match="there is no topic 'orders'; topics: payments"):
        put(strict, "orders", [NewRecord(b"one")])
    assert list(strict.metadata.topics) == ["payments"]


def test_what_the_broker_refuses_is_said() -> None:
    cluster = make_cluster({"orders": 2})
    with pytest.raises(TopicError, match="there is no partition 2; allowed: 0 to 1"):
        put(cluster, "orders", [NewRecord(b"one", partition=2)])
    create_topic(cluster, "compacted", configs={"cleanup.policy": "compact"})
    with pytest.raises(TopicError, match="topic compacted: "):
        put(cluster, "compacted", [NewRecord(b"no key")])
    with pytest.raises(TopicError, match="Topic 'orders' already exists"):
        create_topic(cluster, "orders")
    with pytest.raises(TopicError, match="no topic 'nope'; topics: compacted, orders"):
        delete_topic(cluster, "nope")


def test_records_go_and_offsets_stay() -> None:
    cluster = make_cluster({"orders": 1})
    put(cluster, "orders", [NewRecord(b"one"), NewRecord(b"two")])
    delete_records(cluster, "orders")
    assert TopicReader("orders").read(cluster) == []
    assert put(cluster, "orders", [NewRecord(b"three")])[0].offset == 2


def test_only_bytes_and_text_are_put() -> None:
    assert to_bytes("value", "é") == b"\xc3\xa9"
    assert to_bytes("value", bytearray(b"x")) == b"x"
    assert to_bytes("value", None) is None
    with pytest.raises(
        TypeError, match="value: int cannot be put; allowed: bytes, str, dict, list"
    ):
        to_bytes("value", 1)
    assert to_headers({"a": "1"}) == [("a", b"1")]
    assert to_headers([("a", b"1"), ("a", None)]) == [("a", b"1"), ("a", None)]
    with pytest.raises(TypeError, match=r"headers\['a'\]: int"):
        to_headers({"a": 1})  # type: ignore[arg-type]
