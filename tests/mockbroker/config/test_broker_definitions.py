"""The table holds what Apache Kafka 4.4 lists."""

from __future__ import annotations

from mockbroker.config.broker_definitions import BROKER_DEFINITIONS
from mockbroker.config.definition import ConfigDefinition


def test_the_table_counts_what_kafka_has() -> None:
    definitions = [ConfigDefinition.from_row(row) for row in BROKER_DEFINITIONS.splitlines()]
    assert len(definitions) == 379
    assert sum(not definition.internal for definition in definitions) == 350
    assert len({definition.name for definition in definitions}) == 379
    assert {definition.name for definition in definitions if not definition.has_default} == {
        "controller.listener.names",
        "node.id",
        "process.roles",
    }
