"""The store changes by `apply` alone, keeps its views in step and tells its listeners."""

from __future__ import annotations

import pytest

from mockbroker.config.broker import BrokerConfig
from mockbroker.metadata.brokers import BrokerInfo
from mockbroker.metadata.changes import (
    BrokerChanged,
    Change,
    ConfigsChanged,
    LeaderChanged,
    PartitionsAdded,
    PartitionState,
    TopicCreated,
    TopicDeleted,
)
from mockbroker.metadata.store import RESOURCE_BROKER, RESOURCE_GROUP, RESOURCE_TOPIC, MetadataStore

ID = bytes(15) + b"\x07"


def store_with(name: str = "t", configs: dict[str, str] | None = None) -> MetadataStore:
    store = MetadataStore("cluster", BrokerConfig())
    store.apply(TopicCreated(name, ID, [PartitionState(1, [1], [1])], configs or {}))
    return store


def test_a_created_topic_is_found_by_name_and_by_id() -> None:
    store = store_with(configs={"retention.ms": "5"})
    topic = store.topics["t"]
    assert store.topics_by_id[ID] is topic
    assert topic.config.int("retention.ms") == 5
    assert not topic.internal
    assert store_with("__consumer_offsets").topics["__consumer_offsets"].internal


def test_a_deleted_topic_is_gone_from_every_view() -> None:
    store = store_with("a.b")
    store.apply(TopicDeleted("a.b", ID))
    assert not store.topics
    assert not store.topics_by_id
    assert store.colliding_topic("a_b") is None


def test_a_name_or_id_is_never_created_twice() -> None:
    store = store_with()
    partitions = [PartitionState(1, [1], [1])]
    with pytest.raises(AssertionError):
        store.apply(TopicCreated("t", bytes(15) + b"\x08", partitions, {}))
    with pytest.raises(AssertionError):
        store.apply(TopicCreated("u", ID, partitions, {}))
    with pytest.raises(AssertionError):
        store.apply(TopicCreated("v", bytes(15) + b"\x09", [], {}))


def test_partitions_are_added_at_the_end() -> None:
    store = store_with()
    store.apply(PartitionsAdded("t", ID, 1, [PartitionState(1, [1], [1])] * 2))
    assert len(store.topics["t"].partitions) == 3
    with pytest.raises(AssertionError):
        store.apply(PartitionsAdded("t", ID, 1, [PartitionState(1, [1], [1])]))


def test_a_leader_changes() -> None:
    store = store_with()
    state = PartitionState(2, [1, 2], [2], leader_epoch=1)
    store.apply(LeaderChanged("t", ID, 0, state))
    assert store.topics["t"].partitions[0] is state


def test_listeners_hear_each_change_after_it_is_in_force() -> None:
    store = store_with()
    heard: list[tuple[Change, bool]] = []
    store.subscribe(lambda change: heard.append((change, "t" in store.topics)))
    deleted = TopicDeleted("t", ID)
    version = store.version
    store.apply(deleted)
    assert heard == [(deleted, False)]
    assert store.version == version + 1


def test_a_topics_configs_are_replaced() -> None:
    store = store_with(configs={"retention.ms": "5", "segment.ms": "6"})
    store.apply(ConfigsChanged(RESOURCE_TOPIC, "t", {"retention.ms": "7"}))
    topic = store.topics["t"]
    assert topic.configs == {"retention.ms": "7"}
    assert topic.config.int("retention.ms") == 7
    assert topic.config.int("segment.ms") == 604_800_000


@pytest.mark.parametrize("name", ["", "1"])
def test_a_brokers_dynamic_configs_reach_its_topics(name: str) -> None:
    store = store_with()
    assert store.topics["t"].config.int("retention.ms") == 604_800_000
    store.apply(ConfigsChanged(RESOURCE_BROKER, name, {"log.retention.ms": "9"}))
    assert store.topics["t"].config.int("retention.ms") == 9
    assert store.config.int("log.retention.ms") == 9


def test_another_brokers_configs_are_not_ours() -> None:
    store = store_with()
    store.apply(ConfigsChanged(RESOURCE_BROKER, "2", {"log.retention.ms": "9"}))
    assert store.config.value("log.retention.ms") is None


def test_fenced_brokers_are_not_alive() -> None:
    store = store_with()
    for node_id, fenced in ((3, False), (1, False), (2, True)):
        store.apply(BrokerChanged(BrokerInfo(node_id, fenced=fenced)))
    assert [broker.node_id for broker in store.alive_brokers()] == [1, 3]


def test_names_collide_over_dots_and_underscores() -> None:
    store = store_with("a.b")
    assert store.colliding_topic("a_b") == "a.b"
    assert store.colliding_topic("a.b") == "a.b"
    assert store.colliding_topic("ab") is None
    assert store.colliding_topic("a_c") is None


def test_the_configs_of_a_group_are_in_force_at_once() -> None:
    store = store_with()
    name = "consumer.session.timeout.ms"
    before = store.group_config("g").int(name)
    for value in (before + 1, before + 2):
        store.apply(ConfigsChanged(RESOURCE_GROUP, "g", {name: str(value)}))
        assert store.group_config("g").int(name) == value
    store.apply(ConfigsChanged(RESOURCE_GROUP, "g", {}))
    assert store.group_config("g").int(name) == before
