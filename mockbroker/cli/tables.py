"""Tables for people: columns as wide as what is in them, numbers to the right, no frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """The text of a table, without a line end; `-` stands for what is None or empty."""
    cells = [[cell(value) for value in row] for row in rows]
    numeric = [
        bool(cells)
        and all(row[index].lstrip("-").isdecimal() or row[index] == "-" for row in cells)
        for index in range(len(columns))
    ]
    lines = [[column.upper() for column in columns], *cells]
    widths = [max(len(line[index]) for line in lines) for index in range(len(columns))]
    return "\n".join(
        "  ".join(
            text.rjust(width) if right else text.ljust(width)
            for text, width, right in zip(line, widths, numeric, strict=True)
        ).rstrip()
        for line in lines
    )


def cell(value: object) -> str:
    """A value as it stands in a table: one line, printable characters alone."""
    if value is None or value == "":
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    return "".join(char if char.isprintable() else "·" for char in str(value))
