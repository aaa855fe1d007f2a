"""The registries of config keys: of brokers, topics and groups.

`BrokerConfig`, `TopicConfig` and `GroupConfig` look their keys up here; a config of our own is a
row of `tables/own.txt`. The files are split into rows at the first look-up and a row is read when
its key is first asked for, so that a broker that starts reads a few of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from mockbroker.config.definition import ConfigDefinition
from mockbroker.config.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.abc import ResourceLoader


class ConfigRegistry:
    """Definitions by key, read lazily from the named files in `tables`."""

    __slots__ = ("_definitions", "_rows", "_tables", "kind")

    def __init__(self, kind: str, *tables: str) -> None:
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

        For a broker's key, which a person typed, the text names the nearest ones; for a topic's or
        a group's, which a client sent, it is Apache Kafka's text.
        """
        definition = self.get(name)
        if definition is None:
            raise self.unknown(name)
        return definition

    def unknown(self, name: str) -> ConfigError:
        """What is raised for a key that there is not."""
        return ConfigError(f"Unknown {self.kind} config name: {name}{self._suggestion(name)}")

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
            for table in self._tables:
                for row in _read(table).splitlines():
                    if row[0] != "#":
                        rows[row[: row.index(" ")]] = row
        return rows

    def _suggestion(self, name: str) -> str:
        if self.kind != "broker":
            return ""
        from difflib import get_close_matches

        near = get_close_matches(name, self.names(), n=2, cutoff=0.75)
        return f"; did you mean {' or '.join(near)}?" if near else ""


def _read(table: str) -> str:
    # By the module's loader, as a module is read, so that it works wherever the package is found.
    path = f"{__file__[: __file__.rindex('registry')]}tables/{table}.txt"
    loader = cast("ResourceLoader", __spec__.loader)
    return loader.get_data(path).decode()


def documentation_of(name: str) -> str | None:
    """What a config is for, in a few words; None where nothing is said of it."""
    for registry in (GROUP, TOPIC, BROKER):
        definition = registry.get(name)
        if definition is not None:
            return definition.documentation
    return None


BROKER: Final = ConfigRegistry("broker", "broker", "own")
TOPIC: Final = ConfigRegistry("topic", "topic", "own_topic")
GROUP: Final = ConfigRegistry("group", "group")
