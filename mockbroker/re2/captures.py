"""What an expression captures of a text, and the text with each match replaced.

For rules that make a name of another one, such as `ssl.principal.mapping.rules`. Of several ways to
match the one counts that Java's matcher would find first. All ways are followed side by side, in
the order of their preference (Pike's algorithm): the time of a match grows with the length of the
expression times that of the text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from mockbroker.re2.expression import holds, kind_of
from mockbroker.re2.parser import Assertion, Jump, Save, Split, parse_with_groups

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker.re2.characters import CharacterSet

# Where each group begins and ends, the whole match first.
Captures: TypeAlias = "tuple[int | None, ...]"


class CapturingExpression:
    """An expression and its groups. Raises RegexError."""

    def __init__(self, text: str) -> None:
        self._program, self.groups, self.names = parse_with_groups(text)

    def replace_all(self, text: str, make: Callable[[Captures], str]) -> str:
        """The text with what `make` gives for each match (Java: Matcher.replaceAll)."""
        parts: list[str] = []
        copied = place = 0
        while place <= len(text):
            found = self.search(text, place)
            if found is None:
                break
            begin, end = found[:2]
            assert begin is not None
            assert end is not None
            parts += (text[copied:begin], make(found))
            copied = end
            place = end + 1 if begin == end else end
        return "".join((*parts, text[copied:]))

    def search(self, text: str, start: int) -> Captures | None:
        """The first match from there on, or None."""
        found: Captures | None = None
        nothing: Captures = (None,) * (2 * self.groups + 2)
        ways: list[tuple[int, Captures]] = []
        for place in range(start, len(text) + 1):
            if found is None:
                ways.append((0, _with(nothing, 0, place)))
            elif not ways:
                break
            after = text[place : place + 1]
            ready, ended = self._follow(ways, place, kind_of(text[place - 1 : place]), after)
            found = ended or found
            ways = [(at + 1, kept) for at, kept, characters in ready if after in characters]
        return found

    def _follow(
        self, ways: list[tuple[int, Captures]], place: int, before: str, after: str
    ) -> tuple[list[tuple[int, Captures, CharacterSet]], Captures | None]:
        """Where each way comes to read a character; the end of one leaves out those behind it."""
        program = self._program
        ready: list[tuple[int, Captures, CharacterSet]] = []
        seen: set[int] = set()
        left = ways[::-1]
        while left:
            at, kept = left.pop()
            if at in seen:
                continue
            seen.add(at)
            if at == len(program):
                return ready, _with(kept, 1, place)
            one = program[at]
            if isinstance(one, Split):
                both = [(at + one.offset, kept), (at + 1, kept)]
                left += both[::-1] if one.jumps_first else both
            elif isinstance(one, Jump):
                left.append((at + one.offset, kept))
            elif isinstance(one, Save):
                left.append((at + 1, _with(kept, one.slot, place)))
            elif isinstance(one, Assertion):
                if holds(one, before, after):
                    left.append((at + 1, kept))
            else:
                ready.append((at, kept, one))
        return ready, None


def _with(kept: Captures, slot: int, place: int) -> Captures:
    return (*kept[:slot], place, *kept[slot + 1 :])
