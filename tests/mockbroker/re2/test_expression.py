"""What an expression matches, and what that costs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mockbroker.re2.expression import Expression, compiled, matching
from mockbroker.re2.parser import RegexError, parse

if TYPE_CHECKING:
    from types import FrameType

    from _typeshed import TraceFunction

NAMES = ["orders", "orders.eu", "Orders", "a+b", "x1", "logs_2"]


@pytest.mark.parametrize(
    ("regex", "found"),
    [
        ("orders", {"orders"}),
        ("orders.*", {"orders", "orders.eu"}),
        ("(?i)orders", {"orders", "Orders"}),
        ("(?i:O)rders", {"orders", "Orders"}),
        ("(?i)o(?-i)rders", {"orders", "Orders"}),
        (r"\Qa+b\E", {"a+b"}),
        (r"\pL\d", {"x1"}),
        (r"\p{Ll}+_\pN", {"logs_2"}),
        (r"[[:alpha:]]+", {"orders", "Orders"}),
        (r"[^[:digit:].+_]+", {"orders", "Orders"}),
        (r"^orders$", {"orders"}),
        (r"\Aorders\z", {"orders"}),
        (r"orders\b.*", {"orders", "orders.eu"}),
        (r"orders\B.*", set()),
        (r"(?P<name>x)(?:1)", {"x1"}),
        (r"(?<name>x)1", {"x1"}),
        (r"x\x{31}", {"x1"}),
        (r"\170\x31", {"x1"}),
        (r"x{1,2}1{1}", {"x1"}),
        (r"\w+?", {"orders", "Orders", "x1", "logs_2"}),
        ("x1|a.b|", {"x1", "a+b"}),
        ("", set()),
        ("[", set()),
    ],
)
def test_the_whole_name_must_match(regex: str, found: set[str]) -> None:
    assert matching(regex, NAMES) == found


@pytest.mark.parametrize(
    ("regex", "text", "matches"),
    [
        ("a.b", "a\nb", False),
        ("(?s)a.b", "a\nb", True),
        ("a$\n^b", "a\nb", False),
        ("(?m)a$\n^b", "a\nb", True),
        ("(a*)*b?", "aaab", True),
        ("(|a)+", "aaa", True),
        ("(a{2}){2,}", "aaaaa", False),
        ("(a{2}){2,}", "aaaaaa", True),
        ("a{0}b", "b", True),
        (r"\p{Greek}+", "αβ", True),
        ("(?i)É", "é", True),
    ],
)
def test_lines_and_repetitions(regex: str, text: str, matches: bool) -> None:
    assert compiled(regex).fullmatch(text) is matches


@pytest.mark.parametrize(
    ("regex", "text"),
    [("^(a+)+b", "a"), ("(a|aa)+$b", "a"), ("(.*)*x", "a"), ("([a-z]+)*=", "a"),
     ("(x+x+)+y", "x"), (r"(?:\w\b?)*!", "a")],
)  # fmt: skip
def test_a_text_twice_as_long_costs_twice_as_much(regex: str, text: str) -> None:
    short, long = (lines_to_match(regex, text * length) for length in (100, 200))
    assert long < short * 2.1


def test_the_cost_of_a_character_is_bounded_by_the_length_of_the_expression() -> None:
    # Of a deterministic automaton this has 2 ** 13 states.
    text = "abbabaabbbabaaababbabbbaaabababbbabaabab" * 6 + "!"
    regex = "(a|b)*a(a|b){12}"
    assert lines_to_match(regex, text) < len(text) * len(parse(regex)) * 50


def test_states_that_are_forgotten_are_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mockbroker.re2.expression._MAX_STATES", 2)
    expression = Expression(parse("(ab|c)*"))
    for _ in range(2):
        assert expression.fullmatch("ababcab")
        assert not expression.fullmatch("ababca")


def lines_to_match(regex: str, text: str) -> int:
    """How many lines of code a match runs, with nothing kept from before."""
    expression = Expression(parse(regex))
    lines = 0

    def trace(_frame: FrameType, event: str, _arg: object) -> TraceFunction:
        nonlocal lines
        lines += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        assert expression.fullmatch(text) is False
    finally:
        sys.settrace(before)
    return lines


PIECES = (
    *"aAb-._1\n ^$|()*+?[]{},dDwWsSzQEx:",
    "(?i)", "(?:", "(?m)", "(?s-i:", "(?P<n>", "[a-c]", "[^a]", "{2}", "{1,3}", "{0,2}?",
    "[[:alpha:]]",
    "[[:^digit:]]", r"\pL", r"\p{^Lu}", r"\x41", r"\101", r"\Q", r"\E", r"\d", r"\W", r"\b", r"\B",
    r"\A", r"\z", r"\.",
)  # fmt: skip


@given(
    st.lists(st.sampled_from(PIECES), max_size=8).map("".join),
    st.lists(st.text("aAbB-._1\n ", max_size=4), min_size=1, max_size=8),
)
def test_it_agrees_with_google_re2(regex: str, texts: list[str]) -> None:
    re2 = pytest.importorskip("re2")
    options = re2.Options()
    options.log_errors = False
    try:
        theirs = re2.compile(regex, options)
    except re2.error:
        with pytest.raises(RegexError):
            compiled(regex)
        return
    # RE2/J refuses two groups of one name, as we do; Google's library takes them.
    assume(regex.count("(?P<n>") < 2)
    ours = compiled(regex)
    for text in texts:
        assert ours.fullmatch(text) is (theirs.fullmatch(text) is not None), (regex, text)
