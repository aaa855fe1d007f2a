"""A broker's configs: precedence, parsing on demand, and the rows that clients are shown."""

from __future__ import annotations

import pytest

from mockbroker.config.broker import DIFFERENCES, BrokerConfig
from mockbroker.config.errors import ConfigError
from mockbroker.config.registry import BROKER
from mockbroker.config.rows import ConfigSource


def synonyms(config: BrokerConfig, name: str) -> list[tuple[str, str | None, int]]:
    return [(each.name, each.value, int(each.source)) for each in config.synonyms(name)]


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


def test_differences_from_kafka_are_valid_and_have_a_reason() -> None:
    for name, text, reason in DIFFERENCES:
        definition = BROKER.require(name)
        assert definition.parse(text) != definition.parse(definition.default)
        assert reason


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
    assert synonyms(config, key) == [
        (key, "5", 4),
        ("connections.max.reauth.ms", "9", 4),
        ("connections.max.reauth.ms", "0", 5),
    ]
    with pytest.raises(ConfigError, match="Unknown broker config name"):
        BrokerConfig({"listener.name.internal.tomato": "5"})


def test_dynamic_configs_go_before_static_ones_and_their_own_before_the_clusters() -> None:
    config = BrokerConfig({"message.max.bytes": "1"})
    assert config.int("message.max.bytes") == 1
    config.replace_dynamic({"message.max.bytes": "2"}, cluster_default=True)
    assert config.int("message.max.bytes") == 2
    assert config.source("message.max.bytes") is ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
    config.replace_dynamic({"message.max.bytes": "3"}, cluster_default=False)
    assert config.int("message.max.bytes") == 3
    assert synonyms(config, "message.max.bytes") == [
        ("message.max.bytes", "3", 2),
        ("message.max.bytes", "2", 3),
        ("message.max.bytes", "1", 4),
        ("message.max.bytes", "1048588", 5),
    ]
    config.replace_dynamic({}, cluster_default=False)
    config.replace_dynamic({}, cluster_default=True)
    assert config.int("message.max.bytes") == 1


def test_a_row_shows_value_source_and_whether_it_can_change() -> None:
    config = BrokerConfig({"num.partitions": "6", "ssl.key.password": "secret"})
    row = config.row("num.partitions")
    assert (row.value, row.source, row.read_only) == ("6", ConfigSource.STATIC_BROKER_CONFIG, True)
    assert not config.row("message.max.bytes").read_only
    password = config.row("ssl.key.password")
    assert (password.value, password.sensitive) == (None, True)
    assert [synonym.value for synonym in password.synonyms] == [None]


def test_a_family_is_described_from_its_own_name_on() -> None:
    # log.retention.ms is null: what follows it in the family does not stand for it.
    config = BrokerConfig()
    assert synonyms(config, "log.retention.ms") == []
    assert synonyms(config, "log.retention.hours") == [("log.retention.hours", "168", 5)]
    config = BrokerConfig({"log.retention.ms": "5"})
    assert synonyms(config, "log.retention.ms") == [
        ("log.retention.ms", "5", 4),
        ("log.retention.hours", "168", 5),
    ]


def test_all_that_kafka_lists_is_listed_once() -> None:
    names = [row.name for row in BrokerConfig().describe()]
    assert len(names) == len(set(names)) == 350
    assert "mockbroker.version.profile" in {
        row.name for row in BrokerConfig({"mockbroker.version.profile": "4.4"}).describe()
    }


def test_the_clusters_defaults_begin_with_the_in_sync_minimum() -> None:
    (row,) = BrokerConfig({"min.insync.replicas": "2"}).describe_cluster_default()
    assert (row.name, row.value) == ("min.insync.replicas", "2")
    assert [int(synonym.source) for synonym in row.synonyms] == [3]
    assert dict(BrokerConfig().dynamic(cluster_default=True)) == {"min.insync.replicas": "1"}
    assert not BrokerConfig().dynamic(cluster_default=False)
