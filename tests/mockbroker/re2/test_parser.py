"""Which expressions are RE2J's, and what it says of the others (com.google.re2j.Parser)."""

from __future__ import annotations

import sys

import pytest

from mockbroker.re2 import parser
from mockbroker.re2.parser import RegexError, parse


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[", "missing closing ]"),
        ("[a", "missing closing ]"),
        ("(", "missing closing )"),
        ("(?:a", "missing closing )"),
        (")", "regexp/syntax: internal error"),
        ("(a))", "regexp/syntax: internal error"),
        ("*", "missing argument to repetition operator"),
        ("a|+", "missing argument to repetition operator"),
        ("(?", "invalid or unsupported Perl syntax"),
        ("a**", "invalid nested repetition operator"),
        ("a++", "invalid nested repetition operator"),
        ("a{1}{2}", "invalid nested repetition operator"),
        ("a{1001}", "invalid repeat count"),
        ("x{2,1}", "invalid repeat count"),
        ("(?=x)", "invalid or unsupported Perl syntax"),
        ("(?!x)", "invalid or unsupported Perl syntax"),
        ("(?<=x)", "invalid named capture"),
        ("(?<!x)", "invalid named capture"),
        ("(?P<n", "invalid named capture"),
        ("(?P<n>a)(?P<n>b)", "duplicate capture group name"),
        ("(?>x)", "invalid or unsupported Perl syntax"),
        ("(?P=n)", "invalid or unsupported Perl syntax"),
        ("(?#c)", "invalid or unsupported Perl syntax"),
        ("(?z)", "invalid or unsupported Perl syntax"),
        ("(?i-)", "invalid or unsupported Perl syntax"),
        ("(?--i)", "invalid or unsupported Perl syntax"),
        (r"\1", "invalid escape sequence"),
        (r"(x)\1", "invalid escape sequence"),
        (r"\y", "invalid escape sequence"),
        (r"\C", "invalid escape sequence"),
        (r"\Z", "invalid escape sequence"),
        (r"\x1", "invalid escape sequence"),
        (r"\x{110000}", "invalid escape sequence"),
        (r"\x{}", "invalid escape sequence"),
        (r"\x{41", "invalid escape sequence"),
        (r"[\b]", "invalid escape sequence"),
        ("\\", "trailing backslash at end of expression"),
        ("[b-a]", "invalid character class range"),
        ("[[:nope:]]", "invalid character class range"),
        (r"\p{Klingon}", "invalid character class range"),
        (r"\p{L", "invalid character class range"),
        (r"\p", "invalid character class range"),
    ],
)
def test_what_re2j_does_not_know_is_refused_in_its_words(text: str, why: str) -> None:
    with pytest.raises(RegexError) as caught:
        parse(text)
    assert str(caught.value) == why


@pytest.mark.parametrize(
    "text",
    ["", "()", "a|", "^*", "a(?i)*", "{", "a{", "a{,2}", "a{1,2", "a{01}", "a{x}", "[]]", "[^]]",
     "[a-]", "[[:alpha]", r"\_", r"\é", r"\0", r"\12", r"\Q", r"\Qa\E*", "(?:)", "(?)", "(?U)a*",
     "(?i-s)", r"\pN", r"\p{^Greek}", "(?<n>a)", "(?P<1>a)", "x{0}", "a*(?i)*"],
)  # fmt: skip
def test_what_re2j_takes_is_taken(text: str) -> None:
    parse(text)


def test_a_repetition_of_a_repetition_is_not_written_out_without_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(RegexError, match="expression too large"):
        parse("((a{1000}){1000}){1000}")
    monkeypatch.setattr(parser, "MAX_INSTRUCTIONS", 200)
    assert len(parse("a" * 200)) == 200
    for text in ("a" * 201, "((a{10}){10}){10}", "(" * 9 + "a{9}?" * 30):
        with pytest.raises(RegexError, match="expression too large"):
            parse(text)


def test_depth_is_no_matter() -> None:
    depth = sys.getrecursionlimit() + 100
    parse("(" * depth + "a" + ")" * depth)
    parse("(" * 300 + "a" + ")*" * 300)
