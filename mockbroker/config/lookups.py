"""Look-ups by Kafka's type, shared by broker and topic configs.

A value is parsed from the text in force when it is first read, and is a plain dict entry from then
on: fit for the hot path, and free for configs that nobody reads.

Invariant: each entry of the parsed values equals the parse of the text in force; who changes a
text clears them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker.config.definition import ConfigValue

# Inside the class below, `int`, `str`, `bool`, `float` and `list` are its look-ups.
_Int: TypeAlias = int
_Bool: TypeAlias = bool
_Float: TypeAlias = float
_Str: TypeAlias = str
_Strs: TypeAlias = tuple[str, ...]


class ParsedValues(dict[str, Any]):
    """Parsed values by name; a missing one is parsed when it is first read."""

    __slots__ = ("_parse",)

    def __init__(self, parse: Callable[[str], ConfigValue]) -> None:
        super().__init__()
        self._parse = parse

    def __missing__(self, name: str) -> ConfigValue:
        value = self[name] = self._parse(name)
        return value


class TypedLookups:
    """Configs by name; `parse` gives a value from the text in force, or raises ConfigError."""

    __slots__ = ("_values",)

    def __init__(self, parse: Callable[[_Str], ConfigValue]) -> None:
        self._values = ParsedValues(parse)

    def int(self, name: _Str) -> _Int:
        """An INT, SHORT or LONG."""
        value: _Int = self._values[name]
        return value

    def bool(self, name: _Str) -> _Bool:
        """A BOOLEAN."""
        value: _Bool = self._values[name]
        return value

    def float(self, name: _Str) -> _Float:
        """A DOUBLE."""
        value: _Float = self._values[name]
        return value

    def str(self, name: _Str) -> _Str:
        """A STRING or CLASS that has a value; `value` is for those that may be null."""
        value: _Str = self._values[name]
        return value

    def list(self, name: _Str) -> _Strs:
        """A LIST that has a value."""
        value: _Strs = self._values[name]
        return value

    def value(self, name: _Str) -> ConfigValue:
        """Any config; null is None."""
        value: ConfigValue = self._values[name]
        return value
