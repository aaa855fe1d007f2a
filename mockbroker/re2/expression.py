"""Regular expressions of clients: are they valid, and do they match a text as a whole.

Kafka holds a consumer group's subscription, ListTransactions' pattern and the `match` of client
metrics against a text with `matches()`; here all three come through `compiled`. The time that a
match takes grows with the length of the expression times that of the text, whatever either says:
Python's `re`, which goes back and tries again, would let one expression stop the broker for ever.

States are sets of places in the program (Thompson's construction); each is worked out when it is
first reached, and the way from one to the next is kept.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from mockbroker.re2.characters import WORD, CharacterSet
from mockbroker.re2.parser import Assertion, Jump, RegexError, Split, parse

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mockbroker.re2.parser import Program

# Kept states of one expression; when there are more, all are forgotten.
_MAX_STATES: Final = 1000
_WORD = CharacterSet(folds=False).add(WORD)


class _State:
    """Where a match may be, behind a character of `before`'s kind; `next` by the character."""

    __slots__ = ("before", "next", "places")

    def __init__(self, places: tuple[int, ...], before: str) -> None:
        self.places = places
        self.before = before
        self.next: dict[str, _State] = {}


class Expression:
    """An expression that was parsed; see `compiled`."""

    __slots__ = ("_has_assertions", "_program", "_states")

    def __init__(self, program: Program) -> None:
        self._program = program
        self._has_assertions = any(isinstance(one, Assertion) for one in program)
        self._states: dict[tuple[tuple[int, ...], str], _State] = {}

    def fullmatch(self, text: str) -> bool:
        """Whether the whole text matches."""
        state = self._state((0,), "")
        for char in text:
            state = state.next.get(char) or self._step(state, char)
            if not state.places:
                return False
        return len(self._program) in self._reachable(state, "")

    def _state(self, places: tuple[int, ...], before: str) -> _State:
        key = places, before
        state = self._states.get(key)
        if state is None:
            if len(self._states) >= _MAX_STATES:
                for one in self._states.values():
                    one.next.clear()
                self._states.clear()
            state = self._states[key] = _State(places, before)
        return state

    def _step(self, state: _State, char: str) -> _State:
        places = []
        for place in self._reachable(state, char):
            one = self._program[place] if place < len(self._program) else None
            if isinstance(one, CharacterSet) and char in one:
                places.append(place + 1)
        before = kind_of(char) if self._has_assertions else ""
        after = state.next[char] = self._state(tuple(sorted(places)), before)
        return after

    def _reachable(self, state: _State, after: str) -> set[int]:
        """Every place that is reached without reading, the end of the program being one."""
        program = self._program
        seen: set[int] = set()
        left = list(state.places)
        while left:
            place = left.pop()
            if place in seen:
                continue
            seen.add(place)
            one = program[place] if place < len(program) else None
            if isinstance(one, Split):
                left += (place + 1, place + one.offset)
            elif isinstance(one, Jump):
                left.append(place + one.offset)
            elif isinstance(one, Assertion) and holds(one, state.before, after):
                left.append(place + 1)
        return seen


def kind_of(char: str) -> str:
    """What of a character counts for an assertion behind it; an empty text is the beginning."""
    if char in ("", "\n"):
        return char
    return "w" if char in _WORD else "-"


def holds(assertion: Assertion, before: str, after: str) -> bool:
    """Whether it holds behind a kind of character, an empty text being the end of the text."""
    if assertion is Assertion.BEGIN_TEXT:
        return not before
    if assertion is Assertion.END_TEXT:
        return not after
    if assertion is Assertion.BEGIN_LINE:
        return before in ("", "\n")
    if assertion is Assertion.END_LINE:
        return after in ("", "\n")
    is_boundary = (before == "w") != (after != "" and after in _WORD)
    return is_boundary == (assertion is Assertion.WORD_BOUNDARY)


@lru_cache(maxsize=256)
def compiled(text: str) -> Expression:
    """The expression, or RegexError."""
    return Expression(parse(text))


def matching(text: str, names: Iterable[str]) -> frozenset[str]:
    """The names that it matches; none when it is no expression."""
    try:
        expression = compiled(text)
    except RegexError:
        return frozenset()
    return frozenset(name for name in names if expression.fullmatch(name))
