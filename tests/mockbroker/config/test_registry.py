"""The registries know every key of their tables, and take new ones."""

from __future__ import annotations

import pytest

from mockbroker.config.definition import ConfigDefinition, ConfigType
from mockbroker.config.errors import ConfigError
from mockbroker.config.registry import BROKER, TOPIC, ConfigRegistry


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


def test_a_room_can_register_a_key_of_its_own() -> None:
    registry = ConfigRegistry("broker")
    registry.register(ConfigDefinition("own.key", ConfigType.INT, "7"))
    assert registry.names() == ["own.key"]
    assert registry.require("own.key").parse("8") == 8


@pytest.mark.parametrize("registry", [BROKER, TOPIC])
def test_each_default_is_a_valid_value(registry: ConfigRegistry) -> None:
    for definition in registry:
        if definition.has_default:
            definition.parse(definition.default)
