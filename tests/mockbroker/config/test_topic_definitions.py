"""Each topic config is there, and falls back to broker configs that exist."""

from __future__ import annotations

from mockbroker.config.definition import ConfigDefinition
from mockbroker.config.registry import BROKER
from mockbroker.config.topic_definitions import BROKER_SYNONYMS, TOPIC_DEFINITIONS


def test_the_table_counts_what_kafka_has() -> None:
    definitions = [ConfigDefinition.from_row(row) for row in TOPIC_DEFINITIONS.splitlines()]
    assert len(definitions) == 38
    assert [each.name for each in definitions if each.internal] == ["internal.segment.bytes"]


def test_synonyms_are_broker_configs_with_the_same_default() -> None:
    definitions = {row.split()[0]: row for row in TOPIC_DEFINITIONS.splitlines()}
    for name, synonyms in BROKER_SYNONYMS.items():
        topic = ConfigDefinition.from_row(definitions[name])
        defaults = [
            int(default) * factor if factor > 1 else default
            for synonym, factor in synonyms
            if (default := BROKER.require(synonym).default) is not None
        ]
        assert str(defaults[0]) == topic.default, name
