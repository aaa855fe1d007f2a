"""The registries know every key of their tables, and take new ones."""

from __future__ import annotations

import pytest

from mockbroker.config.broker import BrokerConfig
from mockbroker.config.describe import describe_broker, describe_group, describe_topic
from mockbroker.config.errors import ConfigError
from mockbroker.config.group import GroupConfig
from mockbroker.config.registry import BROKER, GROUP, TOPIC, ConfigRegistry, documentation_of
from mockbroker.config.topic import TopicConfig


def test_an_unknown_broker_key_suggests_near_ones() -> None:
    with pytest.raises(ConfigError) as caught:
        BROKER.require("num.partition")
    assert str(caught.value) == (
        "Unknown broker config name: num.partition; did you mean num.partitions?"
    )


def test_an_unknown_topic_key_is_refused_in_kafkas_words() -> None:
    with pytest.raises(ConfigError) as caught:
        TOPIC.require("retention.m")
    assert str(caught.value) == "Unknown topic config name: retention.m"


@pytest.mark.parametrize("registry", [BROKER, TOPIC, GROUP])
def test_each_default_is_a_valid_value(registry: ConfigRegistry) -> None:
    for definition in registry:
        definition.parse(definition.default)


def test_the_tables_hold_what_kafka_4_4_has() -> None:
    kafkas = list(ConfigRegistry("broker", "broker"))
    assert len(kafkas) == 379
    assert sum(not definition.internal for definition in kafkas) == 350
    of_topics = list(ConfigRegistry("topic", "topic"))
    assert len(of_topics) == 38
    assert [each.name for each in of_topics if each.internal] == ["internal.segment.bytes"]
    assert len(list(GROUP)) == 21


def test_what_a_topic_falls_back_to_has_the_same_default() -> None:
    for topic in TOPIC:
        defaults = [
            int(default) * factor if factor > 1 else default
            for name, factor in topic.behind
            if (default := BROKER.require(name).default) is not None
        ]
        assert not defaults or str(defaults[0]) == topic.default, topic.name


def test_what_a_group_falls_back_to_is_a_broker_config() -> None:
    behind = [name for group in GROUP for name, _ in group.behind]
    assert len(behind) == 16
    assert [name for name in behind if BROKER.get(name) is None] == []


def test_own_configs_are_settable_and_not_listed() -> None:
    own = list(ConfigRegistry("broker", "own"))
    listed = {row.name for row in describe_broker(BrokerConfig())}
    assert own
    assert all(definition.internal for definition in own)
    assert not listed.intersection(definition.name for definition in own)


def test_the_version_profile_is_one_of_two() -> None:
    assert BrokerConfig().str("mockbroker.version.profile") == "widest"
    assert BrokerConfig({"mockbroker.version.profile": "4.4"}).str("mockbroker.version.profile")
    with pytest.raises(ConfigError, match="one of: widest, 4\\.4"):
        BrokerConfig({"mockbroker.version.profile": "0.8"})


def test_each_listed_config_says_what_it_is_for() -> None:
    broker = BrokerConfig()
    rows = [
        *describe_broker(broker),
        *describe_topic(TopicConfig({}, broker)),
        *describe_group(GroupConfig({}, broker)),
    ]
    assert [row.name for row in rows if not documentation_of(row.name)] == []
    assert documentation_of("node.id") == "Id of this node."
    assert documentation_of("no.such.key") is None
