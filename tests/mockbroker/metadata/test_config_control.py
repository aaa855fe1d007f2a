"""Deciding on configs, apart from the wire: one answer each, and changes only for what passes."""

from __future__ import annotations

from random import Random

import pytest

from mockbroker.config.broker import BrokerConfig
from mockbroker.metadata.brokers import BrokerInfo
from mockbroker.metadata.changes import BrokerChanged, Change, ConfigsChanged
from mockbroker.metadata.config_control import AlterOperation, alter_configs
from mockbroker.metadata.controller import Controller
from mockbroker.metadata.store import RESOURCE_BROKER, RESOURCE_TOPIC, MetadataStore
from mockbroker.metadata.topic_requests import ConfigAlteration, NewTopic
from mockbroker_protocol.errors import ErrorCode


@pytest.fixture
def store() -> MetadataStore:
    config = BrokerConfig()
    store = MetadataStore("cluster", config)
    store.apply(BrokerChanged(BrokerInfo(1)))
    Controller(store, config, Random(0)).create_topics([NewTopic("t")])
    return store


def set_to(name: str, key: str, value: str, kind: int = RESOURCE_TOPIC) -> ConfigAlteration:
    return ConfigAlteration(kind, name, [(key, AlterOperation.SET, value)])


def test_what_passes_becomes_a_change_and_the_rest_an_answer(store: MetadataStore) -> None:
    heard: list[Change] = []
    store.subscribe(heard.append)
    answers = alter_configs(
        store,
        [
            set_to("nope", "retention.ms", "1"),
            set_to("t", "retention.ms", "7"),
            set_to("", "message.max.bytes", "9", RESOURCE_BROKER),
        ],
        validate_only=False,
    )
    assert [answer.error for answer in answers] == [
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NONE,
        ErrorCode.NONE,
    ]
    topic, broker = heard
    assert isinstance(topic, ConfigsChanged)
    assert (topic.name, topic.configs) == ("t", {"retention.ms": "7"})
    assert isinstance(broker, ConfigsChanged)
    assert (broker.resource_type, broker.name) == (RESOURCE_BROKER, "")
    assert broker.configs == {"min.insync.replicas": "1", "message.max.bytes": "9"}


def test_configs_are_judged_together_with_those_that_are_set(store: MetadataStore) -> None:
    (first,) = alter_configs(
        store, [set_to("t", "max.compaction.lag.ms", "5")], validate_only=False
    )
    (second,) = alter_configs(
        store, [set_to("t", "min.compaction.lag.ms", "9")], validate_only=False
    )
    assert (first.error, second.error) == (ErrorCode.NONE, ErrorCode.INVALID_CONFIG)
    assert store.topics["t"].configs == {"max.compaction.lag.ms": "5"}


def test_what_is_only_validated_is_judged_by_what_is_in_force(store: MetadataStore) -> None:
    version = store.version
    answers = alter_configs(
        store,
        [set_to("t", "retention.ms", "7"), set_to("t2", "retention.ms", "7")],
        validate_only=True,
    )
    assert [int(answer.error) for answer in answers] == [0, 3]
    assert store.version == version
