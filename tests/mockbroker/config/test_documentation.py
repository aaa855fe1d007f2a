"""Every config that is listed says what it is for, and nothing else does."""

from __future__ import annotations

from mockbroker.config.broker import BrokerConfig
from mockbroker.config.describe import describe_broker, describe_group, describe_topic
from mockbroker.config.documentation import (
    BROKER_DOCUMENTATION,
    GROUP_DOCUMENTATION,
    TOPIC_DOCUMENTATION,
    documentation,
)
from mockbroker.config.group import GroupConfig
from mockbroker.config.registry import BROKER, TOPIC
from mockbroker.config.topic import TopicConfig


def test_each_listed_config_has_a_text() -> None:
    broker = BrokerConfig()
    rows = [
        *describe_broker(broker),
        *describe_topic(TopicConfig({}, broker)),
        *describe_group(GroupConfig({}, broker)),
    ]
    assert [row.name for row in rows if not documentation(row.name)] == []


def test_no_text_is_without_its_config() -> None:
    documented = [
        line.split(": ")[0]
        for table in (BROKER_DOCUMENTATION, TOPIC_DOCUMENTATION)
        for line in table.splitlines()
    ]
    known = {*BROKER.names(), *TOPIC.names()}
    groups = {row.name for row in describe_group(GroupConfig({}, BrokerConfig()))}
    assert [name for name in documented if name not in known] == []
    assert {line.split(": ")[0] for line in GROUP_DOCUMENTATION.splitlines()} == groups


def test_an_unknown_config_has_no_text() -> None:
    assert documentation("no.such.key") is None
