"""What a broker holds before its first client."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker import MockBroker
from mockbroker.state.preparation import Preparation, PreparationError
from mockbroker.state.reading import TopicReader
from mockbroker.state.snapshot import take
from mockbroker.state.snapshot_file import save
from mockbroker.state.writing import NewRecord, put
from tests.support.inside import make_cluster

if TYPE_CHECKING:
    from pathlib import Path


def test_topics_records_and_files(tmp_path: Path) -> None:
    (tmp_path / "orders.jsonl").write_text('{"id": 7}\n')
    (tmp_path / "more.csv").write_text("key,value\n8,eight\n")
    preparation = Preparation()
    table: dict[str, object] = {
        "partitions": 2,
        "config": {"retention.ms": 1000, "preallocate": True},
        "seed": [
            {"file": "orders.jsonl", "key": "id"},
            {"file": str(tmp_path / "more.csv"), "format": "csv", "envelope": True},
        ],
    }
    preparation.add_topic("topics.orders", "orders", table, str(tmp_path))
    preparation.add_topic("topics.empty", "empty", {}, "")
    preparation.add_record("records[0]", {"topic": "orders", "value": {"id": 9}, "partition": 1})
    cluster = make_cluster()
    preparation.apply(cluster)
    orders = cluster.metadata.topics["orders"]
    assert len(orders.partitions) == 2
    assert orders.configs == {"retention.ms": "1000", "preallocate": "true"}
    assert len(cluster.metadata.topics["empty"].partitions) == 1
    found = {(one.key, one.value) for one in TopicReader("orders").read(cluster)}
    assert found == {(b"7", b'{"id": 7}'), (b"8", b"eight"), (None, b'{"id": 9}')}


def test_it_goes_on_from_a_snapshot(tmp_path: Path) -> None:
    first = make_cluster({"orders": 1})
    put(first, "orders", [NewRecord(b"one")])
    save(take(first), str(tmp_path / "state.zip"))
    preparation = Preparation()
    preparation.restore("--restore", str(tmp_path / "state.zip"))
    preparation.add_topic("topics.orders", "orders", {"partitions": 3}, "")
    preparation.add_record("records[0]", {"topic": "orders", "value": "two"})
    second = make_cluster()
    preparation.apply(second)
    assert [one.value for one in TopicReader("orders").read(second)] == [b"one", b"two"]
    with pytest.raises(PreparationError, match=r"--restore: .*nope: No such file"):
        preparation.restore("--restore", str(tmp_path / "nope"))


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ({"partition": 1}, r"topics\.t\.partition: it is unknown; allowed: partitions, "),
        ({"partitions": 0}, r"topics\.t\.partitions: 0 is no count; allowed: a whole number"),
        ({"partitions": True}, "True is no count"),
        ({"config": 1}, r"topics\.t\.config: it is not a table"),
        ({"seed": 1}, r"topics\.t\.seed: 1 names no file"),
        ({"seed": {"key": "id"}}, "names no file; allowed: a file, or"),
        ({"seed": {"file": "a.json", "keys": "id"}}, r"topics\.t\.seed\.keys: it is unknown"),
        ({"seed": {"file": "a.json", "key": 1}}, r"seed\.key: 1 is not; allowed: the name"),
        ({"seed": {"file": "a.json", "envelope": "x"}}, "'x' is not; allowed: true or false"),
        ({"seed": "nope.json"}, r"topics\.t\.seed: /data/nope\.json: No such file"),
    ],
)
def test_a_bad_topic_is_named(table: dict[str, object], problem: str) -> None:
    with pytest.raises(PreparationError, match=problem):
        Preparation().add_topic("topics.t", "t", table, "/data")


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        (1, r"records\[0\]: it is not a table"),
        ({"value": "x"}, r"records\[0\]\.topic: None is no name"),
        ({"topic": "t", "val": 1}, r"records\[0\]\.val: it is unknown; allowed: topic, key, value"),
        ({"topic": "t", "timestamp": "noon"}, "timestamp 'noon' is no time"),
    ],
)
def test_a_bad_record_is_named(record: object, problem: str) -> None:
    with pytest.raises(PreparationError, match=problem):
        Preparation().add_record("records[0]", record)


def test_what_the_broker_refuses_is_named() -> None:
    preparation = Preparation()
    preparation.add_topic("topics.t", "t", {"config": {"no.such": 1}}, "")
    with pytest.raises(PreparationError, match=r"topics\.t: topic t: Unknown topic config"):
        preparation.apply(make_cluster())
    other = Preparation()
    other.add_record("records[0]", {"topic": "t", "value": "x", "partition": 5})
    with pytest.raises(PreparationError, match=r"records\[0\]: topic t: there is no partition 5"):
        other.apply(make_cluster({"t": 1}))


def test_records_are_put_where_several_brokers_lead_their_topics() -> None:
    topics = {"orders": {"partitions": 3, "records": ["one"]}}
    with MockBroker(brokers=3, topics=topics, records=[{"topic": "new", "value": "two"}]) as broker:
        for _ in range(2):
            found = [*broker.topic("orders").records(), *broker.topic("new").records()]
            assert [one.value for one in found] == [b"one", b"two"]
            broker.reset()
