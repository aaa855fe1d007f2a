"""What groups capture, and what replacing each match gives: Java's answers."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockbroker.re2.captures import CapturingExpression
from mockbroker.re2.parser import RegexError


def groups(regex: str, text: str) -> list[str | None] | None:
    """The first match and what each group has of it."""
    expression = CapturingExpression(regex)
    found = expression.search(text, 0)
    if found is None:
        return None
    return [
        None if found[2 * at] is None else text[found[2 * at] : found[2 * at + 1]]
        for at in range(expression.groups + 1)
    ]


@pytest.mark.parametrize(
    ("regex", "text", "found"),
    [
        ("CN=([^,]+),.*", "CN=a,O=b", ["CN=a,O=b", "a"]),
        ("CN=(.*?),(.*)", "CN=a,O=b,C=c", ["CN=a,O=b,C=c", "a", "O=b,C=c"]),
        ("(.*),(.*)", "a,b,c", ["a,b,c", "a,b", "c"]),
        ("(a|ab)(c|bcd)?", "abcd", ["abcd", "a", "bcd"]),
        ("(x)?y", "zy", ["y", None]),
        ("(a)*b", "aab", ["aab", "a"]),
        ("(?U)(a+)(a*)", "aaa", ["a", "a", ""]),
        ("(?U)(a+?)", "aaa", ["aaa", "aaa"]),
        ("(a{1,2})(a??)(a{2,3}?)", "aaaaaa", ["aaaa", "aa", "", "aa"]),
        (r"(?P<n>\bb)(?:c)", "ab bc", ["bc", "b"]),
        ("b", "ac", None),
    ],
)
def test_the_first_way_counts(regex: str, text: str, found: list[str | None] | None) -> None:
    assert groups(regex, text) == found


@pytest.mark.parametrize(
    ("regex", "text", "replaced"),
    [
        ("(a*)(a*)", "aaa", "<><>"),
        (".*", "ab", "<><>"),
        (".*?", "ab", "<>a<>b<>"),
        ("b", "abcb", "a<>c<>"),
        ("$", "ab", "ab<>"),
    ],
)
def test_each_match_is_replaced(regex: str, text: str, replaced: str) -> None:
    assert CapturingExpression(regex).replace_all(text, lambda _: "<>") == replaced


REGEXES = st.recursive(
    st.sampled_from(["a", "b", ".", "[ab]", "$", "^"]),
    lambda inner: st.one_of(
        st.builds("{}{}".format, inner, inner),
        st.builds("({}|{})".format, inner, inner),
        st.builds("({}){}".format, inner, st.sampled_from(["?", "??", "{1,2}", "{2}"])),
    ),
    max_leaves=6,
)


@given(REGEXES, st.text("abc", max_size=8))
def test_it_finds_what_a_matcher_that_tries_again_finds(regex: str, text: str) -> None:
    theirs = re.search(regex.replace("$", r"\Z"), text)
    ours = CapturingExpression(regex).search(text, 0)
    assert (ours is None) == (theirs is None)
    if theirs is not None:
        assert ours is not None
        assert ours[:2] == theirs.span()


def test_a_hundred_stars_cost_no_more_than_their_length() -> None:
    steps = 0
    expression = CapturingExpression("(a*)*" * 20 + "b")

    class Counted(CapturingExpression):
        def _follow(self, *arguments: object) -> object:  # type: ignore[override]
            nonlocal steps
            steps += 1
            return CapturingExpression._follow(expression, *arguments)  # type: ignore[arg-type]

    counted = Counted("(a*)*" * 20 + "b")
    assert counted.search("a" * 100, 0) is None
    assert steps == 101


def test_what_is_no_expression_is_told() -> None:
    with pytest.raises(RegexError):
        CapturingExpression("(")


def test_named_groups_have_numbers() -> None:
    assert CapturingExpression("(a)(?P<x>b)").names == {"x": 2}
    assert CapturingExpression("(a)").replace_all("ba", str) == "b(1, 2, 1, 2)"
