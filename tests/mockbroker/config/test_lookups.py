"""Typed look-ups parse a text once, when it is first read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker.config.errors import ConfigError
from mockbroker.config.lookups import TypedLookups

if TYPE_CHECKING:
    from mockbroker.config.definition import ConfigValue

TEXTS: dict[str, ConfigValue] = {
    "count": 3,
    "ratio": 0.5,
    "flag": True,
    "name": "x",
    "names": ("a", "b"),
    "nothing": None,
}


class Counting(TypedLookups):
    """Counts how often each name is parsed."""

    def __init__(self) -> None:
        self.parsed: list[str] = []
        super().__init__(self.parse)

    def parse(self, name: str) -> ConfigValue:
        if name not in TEXTS:
            raise ConfigError(f"Unknown config: {name}")
        self.parsed.append(name)
        return TEXTS[name]


def test_each_type_has_its_look_up() -> None:
    config = Counting()
    assert config.int("count") == 3
    assert config.float("ratio") == 0.5
    assert config.bool("flag") is True
    assert config.str("name") == "x"
    assert config.list("names") == ("a", "b")
    assert config.value("nothing") is None


def test_a_value_is_parsed_when_first_read_and_once() -> None:
    config = Counting()
    assert config.parsed == []
    assert [config.int("count") for _ in range(3)] == [3, 3, 3]
    assert config.parsed == ["count"]


def test_an_unknown_name_raises_each_time() -> None:
    config = Counting()
    for _ in range(2):
        with pytest.raises(ConfigError, match="Unknown config: none"):
            config.int("none")
