"""Which characters are in a set."""

from __future__ import annotations

import pytest

from mockbroker.re2.characters import PERL, POSIX, CharacterSet, is_unicode_class

TEXT = "aZ09_- \t\v\n.é"


@pytest.mark.parametrize(
    ("name", "found"),
    [("alpha", "aZ"), ("blank", " \t"), ("space", " \t\v\n"), ("punct", "_-."), ("word", "aZ09_")],
)
def test_posix_classes_are_of_ascii(name: str, found: str) -> None:
    characters = CharacterSet(folds=False).add(POSIX[name])
    assert "".join(char for char in TEXT if char in characters) == found


def test_perls_space_has_no_vertical_tab() -> None:
    assert "\v" not in CharacterSet(folds=False).add(PERL["s"])


@pytest.mark.parametrize(
    ("name", "found"),
    [("L", "aZé"), ("Lu", "Z"), ("Nd", "09"), ("Latin", "aZé"), ("Any", TEXT), ("Pc", "_")],
)
def test_unicode_classes_are_categories_and_scripts(name: str, found: str) -> None:
    assert is_unicode_class(name)
    characters = CharacterSet(folds=False).add(name)
    assert "".join(char for char in TEXT if char in characters) == found


def test_a_code_point_that_is_not_assigned_is_in_no_class() -> None:
    assert not is_unicode_class("Cn")
    assert "\u0378" not in CharacterSet(folds=False).add("C")


def test_cases_are_alike_when_they_are_folded() -> None:
    ranges = ((ord("a"), ord("b")),)
    assert "B" in CharacterSet(folds=True).add(ranges)
    assert "B" not in CharacterSet(folds=False).add(ranges)
    assert "B" not in CharacterSet(folds=True, is_negated=True).add(ranges)
    # The sharp s has two letters for its upper case.
    assert "ß" not in CharacterSet(folds=True).add(((ord("S"), ord("S")),))


def test_a_part_or_the_whole_may_be_all_but_that() -> None:
    digits = PERL["d"]
    assert "x" in CharacterSet(folds=False).add(digits, negated=True)
    whole = CharacterSet(folds=False, is_negated=True).add(digits, negated=True)
    assert "1" in whole
    assert "x" not in whole
