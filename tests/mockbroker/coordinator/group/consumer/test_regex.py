"""Which expressions are RE2's, and what they match."""

from __future__ import annotations

import pytest

from mockbroker.coordinator.group.consumer.regex import RegexError, compiled, matching

NAMES = ["orders", "orders.eu", "Orders", "a+b", "x1", "logs_2"]


@pytest.mark.parametrize(
    ("regex", "found"),
    [
        ("orders", {"orders"}),
        ("orders.*", {"orders", "orders.eu"}),
        ("(?i)orders", {"orders", "Orders"}),
        (r"\Qa+b\E", {"a+b"}),
        (r"\pL\d", {"x1"}),
        (r"\p{Ll}+_\pN", {"logs_2"}),
        (r"[[:alpha:]]+", {"orders", "Orders"}),
        (r"[^[:digit:].+_]+", {"orders", "Orders"}),
        (r"^orders$", {"orders"}),
        (r"orders\z", {"orders"}),
        (r"(?P<name>x)(?:1)", {"x1"}),
        (r"(?<name>x)1", {"x1"}),
        (r"x\x{31}", {"x1"}),
        (r"x{1,2}1{1}", {"x1"}),
        (r"\w+?", {"orders", "Orders", "x1", "logs_2"}),
        ("", set()),
    ],
)
def test_the_whole_name_must_match(regex: str, found: set[str]) -> None:
    assert matching(regex, NAMES) == found


@pytest.mark.parametrize(
    "regex",
    [
        "[", "(", ")", "*", "a**", "a++", "(?=x)", "(?!x)", "(?<=x)", "(?<!x)", "(?>x)", "a{1001}",
        r"\1", r"(x)\1", r"(?P=name)", "\\", "x{2,1}", "[b-a]", r"\y", "(?#c)", r"[[:nope:]]",
        r"\p{Klingon}", "a{1}{2}", "(?z)", "a" * 10_001,
    ],
)  # fmt: skip
def test_what_re2_does_not_know_is_refused(regex: str) -> None:
    with pytest.raises(RegexError):
        compiled(regex)
    assert matching(regex, NAMES) == set()
