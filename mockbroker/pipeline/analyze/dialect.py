"""The few words in which the engines' SQL differs. Used by `relations` alone.

Everything behind the relations is flat, and one text for all engines.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class Dialect:
    """Names quoted, arrays taken apart."""

    name: str
    quote: str
    explode: str
    """The function in a SELECT list that makes a row of each element."""
    size: str
    overlap: str
    """Whether two arrays share an element."""
    array: Callable[[str], str]
    """Elements to a literal of an array."""
    element: Callable[[str, int], str]
    """An array's element, numbered from 0."""
    three: Callable[[str], str]
    """The first three of an array."""
    join: Callable[[str], str]
    """An array of texts to one text, with commas."""
    any_of: Callable[[str, str, str], str]
    """Array, variable and condition to whether it holds for an element."""

    def q(self, name: str) -> str:
        """A name that may be a word of SQL."""
        return f"{self.quote}{name}{self.quote}"

    def text(self, value: str) -> str:
        """A text as a literal."""
        if self.name == "spark":
            value = value.replace("\\", "\\\\").replace("'", "\\'")
        else:
            value = value.replace("'", "''")
        return f"'{value}'"

    def has_any(self, array: str, codes: tuple[int, ...]) -> str:
        """Whether an array of numbers has one of these."""
        listed = self.array(", ".join(map(str, codes)))
        return f"coalesce({self.overlap}({array}, {listed}), false)"


SPARK: Final = Dialect(
    name="spark",
    quote="`",
    explode="explode",
    size="size",
    overlap="arrays_overlap",
    array=lambda elements: f"array({elements})",
    element=lambda array, number: f"element_at({array}, {number + 1})",
    three=lambda array: f"slice({array}, 1, 3)",
    join=lambda array: f"array_join({array}, ', ')",
    any_of=lambda array, name, condition: f"exists({array}, {name} -> {condition})",
)
DUCKDB: Final = Dialect(
    name="duckdb",
    quote='"',
    explode="unnest",
    size="len",
    overlap="list_has_any",
    array=lambda elements: f"[{elements}]",
    element=lambda array, number: f"{array}[{number + 1}]",
    three=lambda array: f"{array}[1:3]",
    join=lambda array: f"array_to_string({array}, ', ')",
    any_of=lambda array, name, condition: (
        f"(len(list_filter({array}, lambda {name}: {condition})) > 0)"
    ),
)
