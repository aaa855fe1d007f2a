"""What a client chose freely cannot do anything to a terminal."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mockbroker.journal.printable import printable, printable_lines


def test_what_can_be_printed_stays() -> None:
    assert printable("orders-é-注文 😀") == "orders-é-注文 😀"


def test_controls_and_marks_of_direction_are_escaped() -> None:
    assert printable("a\x1b[2J\n\x9b\u202e\ud800") == r"a\x1b[2J\n\x9b\u202e\ud800"


def test_a_long_text_is_cut() -> None:
    assert printable("x" * 300, 256) == "x" * 256 + "…"
    assert printable("x" * 256, 256) == "x" * 256


def test_lines_stay_lines() -> None:
    assert printable_lines("one\n\ttwo\x1b\n") == "one\n\\ttwo\\x1b\n"


@given(st.text())
def test_nothing_else_comes_out(text: str) -> None:
    assert printable(text).isprintable()
