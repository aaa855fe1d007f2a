"""A broker's configs: precedence, parsing on demand, and the rows that clients are shown."""

from __future__ import annotations

import pytest

from mockbroker.config.broker import DIFFERENCES, BrokerConfig, synonym_names
from mockbroker.config.errors import ConfigError
from mockbroker.config.registry import BROKER


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("group.initial.rebalance.delay.ms", 0),
        ("num.partitions", 1),
        ("offsets.topic.num.partitions", 50),
        ("offsets.topic.replication.factor", 1),
        ("auto.create.topics.enable", True),
        ("fetch.max.bytes", 57_671_680),
        ("max.incremental.fetch.session.cache.slots", 1000),
        ("min.incremental.fetch.session.eviction.ms", 120_000),
        ("log.cleanup.policy", ("delete",)),
        ("log.retention.ms", None),
        ("node.id", 1),
        ("broker.id", 1),
    ],
)
def test_a_default_broker_has_these_values(name: str, value: object) -> None:
    assert BrokerConfig().value(name) == value


def test_queued_requests_may_not_be_smaller_than_the_largest_one() -> None:
    largest = {"socket.request.max.bytes": "1000"}
    with pytest.raises(ConfigError, match="must be larger or equal to socket"):
        BrokerConfig({"queued.max.request.bytes": "999", **largest})
    for enough in ("1000", "0", "-1"):
        BrokerConfig({"queued.max.request.bytes": enough, **largest})


def test_differences_from_kafka_are_valid_and_have_a_reason() -> None:
    for name, text, reason in DIFFERENCES:
        definition = BROKER.require(name)
        assert definition.parse(text) != definition.parse(definition.default)
        assert reason
        assert (BrokerConfig.default(name), BrokerConfig().configured(name)) == (text, None)


def test_look_ups_by_type() -> None:
    config = BrokerConfig({"log.cleanup.policy": "compact,delete"})
    assert config.int("num.partitions") == 1
    assert config.bool("delete.topic.enable") is True
    assert config.float("log.cleaner.min.cleanable.ratio") == 0.5
    assert config.str("compression.type") == "producer"
    assert config.list("log.cleanup.policy") == ("compact", "delete")


@pytest.mark.parametrize("key", ["node.id", "broker.id"])
def test_either_id_sets_both(key: str) -> None:
    config = BrokerConfig({key: "7"})
    assert config.node_id == config.int("broker.id") == 7


def test_an_unknown_key_is_refused_with_a_suggestion() -> None:
    with pytest.raises(ConfigError, match=r"did you mean auto\.create\.topics\.enable"):
        BrokerConfig({"auto.create.topic.enable": "true"})
    with pytest.raises(ConfigError, match=r"Unknown broker config name: tomato$"):
        BrokerConfig().int("tomato")


def test_a_key_may_be_set_for_one_listener() -> None:
    key = "listener.name.internal.connections.max.reauth.ms"
    config = BrokerConfig({key: "5", "connections.max.reauth.ms": "9"})
    assert config.int(key) == 5
    with pytest.raises(ConfigError, match="Unknown broker config name"):
        BrokerConfig({"listener.name.internal.tomato": "5"})


def test_dynamic_configs_go_before_static_ones_and_their_own_before_the_clusters() -> None:
    config = BrokerConfig({"message.max.bytes": "1"})
    assert config.int("message.max.bytes") == 1
    config.replace_dynamic({"message.max.bytes": "2"}, cluster_default=True)
    assert config.int("message.max.bytes") == 2
    config.replace_dynamic({"message.max.bytes": "3"}, cluster_default=False)
    assert config.int("message.max.bytes") == 3
    assert [level.get("message.max.bytes") for level in config.levels()] == ["3", "2", "1"]
    config.replace_dynamic({}, cluster_default=False)
    config.replace_dynamic({}, cluster_default=True)
    assert config.int("message.max.bytes") == 1


def test_the_clusters_defaults_begin_with_the_in_sync_minimum() -> None:
    config = BrokerConfig({"min.insync.replicas": "2"})
    assert dict(config.dynamic(cluster_default=True)) == {"min.insync.replicas": "2"}
    assert dict(BrokerConfig().dynamic(cluster_default=True)) == {"min.insync.replicas": "1"}
    assert not BrokerConfig().dynamic(cluster_default=False)


@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("num.partitions", ("num.partitions",)),
        ("log.roll.hours", ("log.roll.ms", "log.roll.hours")),
        ("listener.name.x.listeners", ("listener.name.x.listeners", "listeners")),
    ],
)
def test_synonyms(name: str, names: tuple[str, ...]) -> None:
    assert synonym_names(name) == names
