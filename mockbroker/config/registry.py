"""The open registries of config keys: one for brokers, one for topics.

`BrokerConfig` and `TopicConfig` look their keys up here; a room that brings a config of its own
registers it with `BROKER.register(...)`. The tables are split into rows at the first look-up and
a row is read when its key is first asked for, so that a broker that starts reads a few of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final, cast

from mockbroker.config.definition import ConfigDefinition
from mockbroker.config.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator


class ConfigRegistry:
    """Definitions by key, read lazily from the named tables (module and attribute)."""

    __slots__ = ("_definitions", "_rows", "_tables", "kind")

    def __init__(self, kind: str, *tables: tuple[str, str]) -> None:
        self.kind = kind
        self._tables = tables
        self._rows: dict[str, str] | None = None
        self._definitions: dict[str, ConfigDefinition] = {}

    def get(self, name: str) -> ConfigDefinition | None:
        """The definition of a key, None when there is no such key."""
        definition = self._definitions.get(name)
        if definition is None:
            row = self._row_of_name().get(name)
            if row is not None:
                definition = self._definitions[name] = ConfigDefinition.from_row(row)
        return definition

    def require(self, name: str) -> ConfigDefinition:
        """The definition of a key; ConfigError when there is none.

        For a broker's key, which a person typed, the text names the nearest ones; for a topic's,
        which a client sent, it is Apache Kafka's text.
        """
        definition = self.get(name)
        if definition is None:
            raise ConfigError(f"Unknown {self.kind} config name: {name}{self._suggestion(name)}")
        return definition

    def register(self, definition: ConfigDefinition) -> None:
        """Add a key, or replace its definition."""
        self._row_of_name()[definition.name] = ""
        self._definitions[definition.name] = definition

    def names(self) -> list[str]:
        """All keys, in the order of the tables."""
        return list(self._row_of_name())

    def __iter__(self) -> Iterator[ConfigDefinition]:
        for name in self.names():
            definition = self.get(name)
            assert definition is not None
            yield definition

    def _row_of_name(self) -> dict[str, str]:
        rows = self._rows
        if rows is None:
            rows = self._rows = {}
            for module, attribute in self._tables:
                text = cast("str", getattr(import_module(module), attribute))
                for row in text.splitlines():
                    rows[row[: row.index(" ")]] = row
        return rows

    def _suggestion(self, name: str) -> str:
        if self.kind == "topic":
            return ""
        from difflib import get_close_matches

        near = get_close_matches(name, self.names(), n=2, cutoff=0.75)
        return f"; did you mean {' or '.join(near)}?" if near else ""


BROKER: Final = ConfigRegistry(
    "broker",
    ("mockbroker.config.broker_definitions", "BROKER_DEFINITIONS"),
    ("mockbroker.config.own_definitions", "OWN_DEFINITIONS"),
)
TOPIC: Final = ConfigRegistry("topic", ("mockbroker.config.topic_definitions", "TOPIC_DEFINITIONS"))
