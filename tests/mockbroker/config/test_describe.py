"""Configs as clients are shown them: values, sources and synonyms, as Apache Kafka shows them."""

from __future__ import annotations

from mockbroker.config.broker import BrokerConfig
from mockbroker.config.describe import (
    broker_row,
    broker_synonyms,
    describe_broker,
    describe_cluster_default,
    describe_created_topic,
    describe_topic,
)
from mockbroker.config.registry import BROKER
from mockbroker.config.rows import ConfigRow, ConfigSource
from mockbroker.config.topic import TopicConfig

EXTENSION = "coop.extension.enable"


def synonyms(config: BrokerConfig, name: str) -> list[tuple[str, str | None, int]]:
    return [(each.name, each.value, int(each.source)) for each in broker_synonyms(config, name)]


def described(config: TopicConfig) -> dict[str, ConfigRow]:
    return {row.name: row for row in describe_topic(config)}


def created(config: TopicConfig) -> dict[str, ConfigRow]:
    return {row.name: row for row in describe_created_topic(config)}


def test_synonyms_stand_by_precedence() -> None:
    config = BrokerConfig({"message.max.bytes": "1"})
    config.replace_dynamic({"message.max.bytes": "2"}, cluster_default=True)
    config.replace_dynamic({"message.max.bytes": "3"}, cluster_default=False)
    assert synonyms(config, "message.max.bytes") == [
        ("message.max.bytes", "3", 2),
        ("message.max.bytes", "2", 3),
        ("message.max.bytes", "1", 4),
        ("message.max.bytes", "1048588", 5),
    ]


def test_a_key_for_one_listener_falls_back_to_the_key_for_all() -> None:
    key = "listener.name.internal.connections.max.reauth.ms"
    config = BrokerConfig({key: "5", "connections.max.reauth.ms": "9"})
    assert synonyms(config, key) == [
        (key, "5", 4),
        ("connections.max.reauth.ms", "9", 4),
        ("connections.max.reauth.ms", "0", 5),
    ]


def test_a_row_shows_value_source_and_whether_it_can_change() -> None:
    config = BrokerConfig({"num.partitions": "6", "ssl.key.password": "secret"})
    row = broker_row(config, "num.partitions")
    assert (row.value, row.source, row.read_only) == ("6", ConfigSource.STATIC_BROKER_CONFIG, True)
    assert not broker_row(config, "message.max.bytes").read_only
    password = broker_row(config, "ssl.key.password")
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
    names = [row.name for row in describe_broker(BrokerConfig())]
    assert len(names) == len(set(names)) == 350
    assert "mockbroker.version.profile" in {
        row.name for row in describe_broker(BrokerConfig({"mockbroker.version.profile": "4.4"}))
    }


def test_a_broker_with_the_extension_lists_its_configs_too() -> None:
    rows = {row.name: row for row in describe_broker(BrokerConfig({EXTENSION: "true"}))}
    accepts = rows["accept.individual.commit"]
    assert (accepts.value, int(accepts.source), accepts.read_only) == ("true", 5, False)
    assert rows["max.bytes.fetcher.filtering"].value == "104857600"
    assert rows["individual.commit.log.segment.bytes"].read_only
    assert len(rows) == 350 + 1 + sum(each.extension for each in BROKER)


def test_the_topics_configs_of_the_extension_are_told_by_name() -> None:
    named = {"range.fetch.enable", "range.fetch.null.key.policy"}
    on, off = TopicConfig({}, BrokerConfig({EXTENSION: "true"})), TopicConfig({}, BrokerConfig())
    assert not named.intersection(described(on))
    assert not named.intersection(row.name for row in describe_topic(off, named))
    told = {row.name: row.value for row in describe_topic(on, named) if row.name in named}
    assert told == {"range.fetch.enable": "true", "range.fetch.null.key.policy": "spread"}


def test_without_the_extension_its_keys_are_a_plug_ins() -> None:
    row = broker_row(BrokerConfig({"coop.fetch.lease.ms": "5"}), "coop.fetch.lease.ms")
    assert (row.value, row.sensitive, int(row.type)) == (None, True, 0)


def test_the_clusters_defaults_show_their_own_source_only() -> None:
    (row,) = describe_cluster_default(BrokerConfig({"min.insync.replicas": "2"}))
    assert (row.name, row.value) == ("min.insync.replicas", "2")
    assert [int(synonym.source) for synonym in row.synonyms] == [3]


def test_a_described_row_names_all_that_sets_it() -> None:
    broker = BrokerConfig({"log.cleanup.policy": "compact"})
    row = described(TopicConfig({"cleanup.policy": " compact , delete "}, broker))["cleanup.policy"]
    assert row.value == "compact,delete"
    assert [(each.name, each.value, int(each.source)) for each in row.synonyms] == [
        ("cleanup.policy", "compact,delete", 1),
        ("log.cleanup.policy", "compact", 4),
        ("log.cleanup.policy", "delete", 5),
    ]


def test_hours_are_the_brokers_when_created_and_a_default_when_described() -> None:
    # Apache Kafka answers so: only the first synonym counts in DescribeConfigs.
    config = TopicConfig({}, BrokerConfig({"log.retention.hours": "1"}))
    row = created(config)["retention.ms"]
    assert (row.value, row.source) == ("3600000", ConfigSource.STATIC_BROKER_CONFIG)
    row = described(config)["retention.ms"]
    assert (row.value, row.source) == ("3600000", ConfigSource.DEFAULT_CONFIG)
    assert row.synonyms == ()


def test_the_in_sync_minimum_comes_from_the_cluster() -> None:
    row = created(TopicConfig({}, BrokerConfig()))["min.insync.replicas"]
    assert (row.value, row.source) == ("1", ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG)


def test_an_internal_config_is_listed_once_it_is_set() -> None:
    assert len(described(TopicConfig({}, BrokerConfig()))) == 37
    rows = created(TopicConfig({"internal.segment.bytes": "100"}, BrokerConfig()))
    assert len(rows) == 38
    assert rows["internal.segment.bytes"].source is ConfigSource.TOPIC_CONFIG
