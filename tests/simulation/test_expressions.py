"""Expressions that are drawn mean in Python what they mean to a broker."""

from __future__ import annotations

import re
from random import Random

import pytest

from mockbroker.re2.expression import compiled
from mockbroker.re2.parser import RegexError
from simulation import expressions

NAMES = ("t0", "txn0", "t.n0", "x_1", "tt", "T0", "", "out", "0", "t-x", "{n", "a{,2}")


@pytest.mark.parametrize(("text", "python"), expressions.ATOMS)
def test_each_atom_is_read_alike(text: str, python: str) -> None:
    for name in (*NAMES, *"tTxns09_.-{^]"):
        assert compiled(text).fullmatch(name) == bool(re.fullmatch(python, name, re.ASCII)), name


def test_whole_expressions_are_read_alike_and_some_match() -> None:
    rng = Random(0)
    matched = 0
    for _ in range(300):
        drawn = expressions.draw_expression(rng)
        for name in NAMES:
            assert compiled(drawn.text).fullmatch(name) == drawn.matches(name), drawn
            matched += drawn.matches(name)
    assert matched > 100


@pytest.mark.parametrize("text", [*expressions.BAD, expressions.LARGE])
def test_bad_ones_are_refused(text: str) -> None:
    with pytest.raises(RegexError):
        compiled(text)


def test_some_are_good_and_some_bad() -> None:
    rng = Random(0)
    drawn = [expressions.draw_any_expression(rng) for _ in range(100)]
    assert 5 < sum(one.python is None for one in drawn) < 50
    assert not expressions.Expression("(", None).matches("(")
