"""The values of a token are read, and what is no value is refused."""

from __future__ import annotations

import pytest

from mockbroker.security.bearer_token import (
    InvalidTokenError,
    check_scope,
    decoded,
    object_of,
    quoted,
)


@pytest.mark.parametrize("part", ["-_8", "+/8", "-_8=", "-_8=="])
def test_either_alphabet_is_read_padded_or_not(part: str) -> None:
    assert decoded(part) == b"\xfb\xff"


@pytest.mark.parametrize("part", ["a", "!", "e30x", "W10", "MQ"])
def test_what_is_no_object_is_malformed(part: str) -> None:
    with pytest.raises(InvalidTokenError, match="malformed"):
        object_of(part)


def test_a_name_may_be_there_once() -> None:
    part = "eyJhIjoxLCJhIjoyfQ"  # {"a":1,"a":2}
    assert object_of(part) == {"a": 2}
    with pytest.raises(InvalidTokenError, match="a name twice"):
        object_of(part, unique=True)


def test_each_scope_that_is_wanted_has_to_be_there() -> None:
    check_scope({"a", "b"}, " b  a ")
    with pytest.raises(InvalidTokenError) as told:
        check_scope({"a"}, "a b")
    assert told.value.scope == "[a, b]"


def test_what_a_token_says_is_told_short() -> None:
    assert quoted("x") == "'x'"
    assert len(quoted("x" * 1000)) == 81
