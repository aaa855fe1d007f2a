"""A group's configs fall back to its broker's, and what is set on a group is checked."""

from __future__ import annotations

import re

import pytest

from mockbroker.config.broker import BrokerConfig
from mockbroker.config.errors import ConfigError
from mockbroker.config.group import GroupConfig

SESSION = "consumer.session.timeout.ms"


def test_a_value_is_the_groups_own_or_the_brokers_or_a_default() -> None:
    broker = BrokerConfig({"group.consumer.session.timeout.ms": "50000"})
    assert GroupConfig({}, broker).int(SESSION) == 50_000
    assert GroupConfig({SESSION: "55000"}, broker).int(SESSION) == 55_000
    plain = GroupConfig({}, BrokerConfig())
    assert plain.int("consumer.heartbeat.interval.ms") == 5000
    assert plain.str("share.auto.offset.reset") == "latest"
    assert plain.list("streams.rack.aware.assignment.tags") == ()
    assert plain.bool("share.renew.acknowledge.enable") is True


def test_the_first_registered_assignor_is_the_default() -> None:
    broker = BrokerConfig({"group.streams.assignors": "mine,sticky"})
    assert GroupConfig({}, broker).str("streams.assignor.name") == "mine"


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("nope", "1", "Unknown group config name: nope"),
        (SESSION, "x", "Not a number of type INT"),
        (SESSION, "44999", "must be in the range 45000 to 60000 inclusive."),
        (SESSION, "60001", "must be in the range 45000 to 60000 inclusive."),
        ("consumer.assignment.interval.ms", "-1", "Value must be at least 0"),
        ("share.delivery.count.limit", "11", "must be in the range 2 to 10 inclusive."),
        ("streams.num.standby.replicas", "3", "must be less than or equal to 2"),
        ("streams.assignor.name", "x", "Registered assignors are: [sticky]."),
        ("share.isolation.level", "x", "String must be one of"),
        ("share.auto.offset.reset", "soon", "must be either"),
        ("share.auto.offset.reset", "by_duration:-PT1H", "must be either"),
        ("share.auto.offset.reset", "by_duration:PT", "must be either"),
        ("errors.deadletterqueue.topic.name", "__x", "must not start with '__'"),
    ],
)
def test_what_may_not_be_set(name: str, text: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(problem)):
        GroupConfig({name: text}, BrokerConfig()).validate()


@pytest.mark.parametrize("text", ["earliest", "by_duration:PT1H", "by_duration:P2DT3.5S"])
def test_shares_may_begin_anywhere(text: str) -> None:
    GroupConfig({"share.auto.offset.reset": text}, BrokerConfig()).validate()


def test_a_session_must_outlast_a_heartbeat() -> None:
    broker = BrokerConfig({"group.consumer.max.heartbeat.interval.ms": "60000"})
    config = GroupConfig({"consumer.heartbeat.interval.ms": "45000"}, broker)
    with pytest.raises(ConfigError, match=r"session.timeout.ms must be greater than consumer"):
        config.validate()
