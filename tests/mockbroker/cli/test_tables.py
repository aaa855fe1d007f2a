"""Tables for people."""

from __future__ import annotations

from mockbroker.cli.tables import table


def test_numbers_stand_right_and_text_left() -> None:
    assert table(("name", "n"), [("a", 1), ("long", 100)]) == "NAME    N\na       1\nlong  100"


def test_what_is_missing_or_cannot_be_printed() -> None:
    assert table(("a", "b"), [(None, True), ("x\n", 1.5)]) == "A   B\n-   yes\nx·  1.5"
    assert table(("a",), []) == "A"
