"""A group's configs fall back to its broker's."""

from __future__ import annotations

from mockbroker.config.broker import BrokerConfig
from mockbroker.config.group import describe_group
from mockbroker.config.rows import ConfigSource


def test_a_value_comes_from_the_broker_config_behind_it() -> None:
    config = BrokerConfig({"group.consumer.session.timeout.ms": "50000"})
    rows = {row.name: row for row in describe_group(config)}
    assert len(rows) == 21
    row = rows["consumer.session.timeout.ms"]
    assert row.value == "50000"
    assert row.source is ConfigSource.STATIC_BROKER_CONFIG
    assert row.synonyms[0].name == "group.consumer.session.timeout.ms"


def test_a_config_without_a_broker_config_is_its_own_synonym() -> None:
    rows = {row.name: row for row in describe_group(BrokerConfig())}
    row = rows["share.auto.offset.reset"]
    assert (row.value, row.source) == ("latest", ConfigSource.DEFAULT_CONFIG)
    assert [synonym.name for synonym in row.synonyms] == ["share.auto.offset.reset"]
