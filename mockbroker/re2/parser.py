r"""An expression in RE2's syntax to a program for `matcher`, with RE2J's verdict and its words.

The whole syntax of RE2J is read (com.google.re2j.Parser): classes, groups, flags, repetitions,
assertions, escapes, `\Q…\E`. What a group captures makes no difference to whether a text matches,
and is forgotten unless it is asked for. Classes and cases beyond ASCII are as `characters` says.

A program is a list of instructions with relative jumps, so that a part of it may be repeated by
copying it, and none of this recurses. Invariant: a program has MAX_INSTRUCTIONS at most; RE2J has
no such limit.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import Final, NamedTuple, TypeAlias

from mockbroker.re2.characters import (
    MAX_CODE_POINT,
    PERL,
    POSIX,
    CharacterSet,
    Ranges,
    is_unicode_class,
)

MAX_INSTRUCTIONS: Final = 20_000
_MAX_REPEATS: Final = 1000
_HEX: Final = frozenset("0123456789abcdefABCDEF")
_OCTAL: Final = frozenset("01234567")
_CONTROLS: Final = {"a": 7, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}

_FOLD, _MULTI_LINE, _DOT_ALL, _UNGREEDY = 1, 2, 4, 8
_FLAGS: Final = {"i": _FOLD, "m": _MULTI_LINE, "s": _DOT_ALL, "U": _UNGREEDY}


class RegexError(Exception):
    """The text says what is wrong with the expression, as RE2J's getDescription does."""


class Assertion(Enum):
    """What holds between two characters."""

    BEGIN_TEXT = auto()
    END_TEXT = auto()
    BEGIN_LINE = auto()
    END_LINE = auto()
    WORD_BOUNDARY = auto()
    NO_WORD_BOUNDARY = auto()


class Split(NamedTuple):
    """Go on at the next instruction, and so many further; which first decides what is captured."""

    offset: int
    jumps_first: bool = False


class Jump(NamedTuple):
    """Go on so many instructions further."""

    offset: int


class Save(NamedTuple):
    """Keep the place in the text: twice a group's number where it begins, and one more behind."""

    slot: int


Instruction: TypeAlias = CharacterSet | Assertion | Split | Jump | Save
Program: TypeAlias = list[Instruction]

_ESCAPED_ASSERTIONS: Final = {
    "A": Assertion.BEGIN_TEXT,
    "z": Assertion.END_TEXT,
    "b": Assertion.WORD_BOUNDARY,
    "B": Assertion.NO_WORD_BOUNDARY,
}
# By whether `(?m)` holds.
_ASSERTIONS: Final = {
    "^": (Assertion.BEGIN_TEXT, Assertion.BEGIN_LINE),
    "$": (Assertion.END_TEXT, Assertion.END_LINE),
}


def parse(text: str) -> Program:
    """The program of an expression, or RegexError."""
    return _Parser(text).parse()


def parse_with_groups(text: str) -> tuple[Program, int, dict[str, int]]:
    """The same with what its groups capture: how many there are, and the numbers of the named."""
    parser = _Parser(text, captures=True)
    return parser.parse(), parser.groups, parser.names


class _Group:
    """A group that is open: its alternatives so far, and the one that is being read."""

    __slots__ = ("alternatives", "atom", "flags_before", "number", "sequence")

    def __init__(self, flags_before: int, number: int = 0) -> None:
        self.flags_before = flags_before
        self.number = number
        self.alternatives: list[Program] = []
        self.sequence: Program = []
        # The last part of the sequence, which a repetition would repeat.
        self.atom: Program | None = None

    def push(self, atom: Program) -> None:
        """The next part of the sequence."""
        if self.atom is not None:
            self.sequence += self.atom
        self.atom = atom

    def end_alternative(self) -> None:
        """At a `|`, or at the end."""
        self.push([])
        self.alternatives.append(self.sequence)
        self.sequence, self.atom = [], None

    def program(self) -> Program:
        """All alternatives as one part."""
        self.end_alternative()
        program = self.alternatives.pop()
        while self.alternatives:
            first = self.alternatives.pop()
            program = [Split(len(first) + 2), *first, Jump(len(program) + 1), *program]
        return program


class _Parser:
    __slots__ = ("_captures", "_flags", "_groups", "_place", "_size", "_text", "groups", "names")

    def __init__(self, text: str, *, captures: bool = False) -> None:
        self._captures = captures
        self._text = text
        self._place = 0
        self._size = 0
        self._flags = 0
        self._groups = [_Group(0)]
        self.groups = 0
        self.names: dict[str, int] = {}

    def parse(self) -> Program:
        is_after_repeat = False
        while self._place < len(self._text):
            char = self._take()
            limits = self._limits(char)
            if limits is None:
                self._one(char)
            else:
                self._repeat(*limits, is_after_repeat=is_after_repeat)
            is_after_repeat = limits is not None
        if len(self._groups) > 1:
            raise RegexError("missing closing )")
        return self._groups[0].program()

    def _take(self) -> str:
        char = self._text[self._place]
        self._place += 1
        return char

    def _peek(self) -> str:
        """The next character; an empty text at the end."""
        return self._text[self._place : self._place + 1]

    def _one(self, char: str) -> None:
        if char == "(":
            self._open()
        elif char == ")":
            self._close()
        elif char == "|":
            self._groups[-1].end_alternative()
        elif char in _ASSERTIONS:
            self._push([_ASSERTIONS[char][bool(self._flags & _MULTI_LINE)]])
        elif char == ".":
            but: Ranges = () if self._flags & _DOT_ALL else ((10, 10),)
            self._push([CharacterSet(folds=False, is_negated=True).add(but)])
        elif char == "[":
            self._push([self._class()])
        elif char == "\\":
            self._escape()
        else:
            self._literal(char)

    def _push(self, atom: Program) -> None:
        self._grow(len(atom))
        self._groups[-1].push(atom)

    def _grow(self, instructions: int) -> None:
        self._size += instructions
        if self._size > MAX_INSTRUCTIONS:
            raise RegexError("expression too large")

    def _literal(self, char: str) -> None:
        number = ord(char)
        self._push([self._set().add(((number, number),))])

    def _set(self) -> CharacterSet:
        return CharacterSet(folds=bool(self._flags & _FOLD))

    # -- repetitions -----------------------------------------------------------------------

    def _limits(self, char: str) -> tuple[int, int | None] | None:
        """How often at least and at most; None when no repetition begins with `char`."""
        if char == "{":
            return self._counted()
        return {"*": (0, None), "+": (1, None), "?": (0, 1)}.get(char)

    def _counted(self) -> tuple[int, int | None] | None:
        end = self._text.find("}", self._place, self._place + 32)
        first, comma, second = self._text[self._place : end].partition(",")
        if end < 0 or not _is_number(first) or (second and not _is_number(second)):
            return None  # the brace is a literal
        self._place = end + 1
        least = int(first)
        most = least if not comma else int(second) if second else None
        if least > _MAX_REPEATS or (most is not None and not least <= most <= _MAX_REPEATS):
            raise RegexError("invalid repeat count")
        return least, most

    def _repeat(self, least: int, most: int | None, *, is_after_repeat: bool) -> None:
        is_lazy = self._peek() == "?"
        if is_lazy:
            self._place += 1
        if self._flags & _UNGREEDY:
            is_lazy = not is_lazy
        if is_after_repeat:
            raise RegexError("invalid nested repetition operator")
        group = self._groups[-1]
        atom = group.atom
        if atom is None:
            raise RegexError("missing argument to repetition operator")
        self._grow((len(atom) + 1) * (max(least, most or 1) - 1) + 2)
        if most is not None:
            group.atom = atom * least + [Split(len(atom) + 1, is_lazy), *atom] * (most - least)
        elif least:
            group.atom = [*atom * least, Split(-len(atom), not is_lazy)]
        else:
            group.atom = [Split(len(atom) + 2, is_lazy), *atom, Jump(-len(atom) - 1)]

    # -- groups ----------------------------------------------------------------------------

    def _open(self) -> None:
        flags_before = self._flags
        if self._peek() != "?":
            self.groups += 1
            self._groups.append(_Group(flags_before, self.groups))
        elif self._text.startswith(("?P<", "?<"), self._place):
            self.groups += 1
            self._name()
            self._groups.append(_Group(flags_before, self.groups))
        elif self._set_flags() == ":":
            self._groups.append(_Group(flags_before))

    def _name(self) -> None:
        begin = self._text.index("<", self._place) + 1
        end = self._text.find(">", begin)
        name = self._text[begin:end]
        if end < 0 or not name.isascii() or not name.replace("_", "a").isalnum():
            raise RegexError("invalid named capture")
        if name in self.names:
            raise RegexError("duplicate capture group name")
        self.names[name] = self.groups
        self._place = end + 1

    def _set_flags(self) -> str:
        """Read `?flags:` or `?flags)`; the last character."""
        self._place += 1
        on = off = 0
        is_off = False
        while self._place < len(self._text):
            char = self._take()
            if char in _FLAGS and is_off:
                off |= _FLAGS[char]
            elif char in _FLAGS:
                on |= _FLAGS[char]
            elif char == "-" and not is_off:
                is_off = True
            elif char in ":)" and (off or not is_off):
                self._flags = (self._flags | on) & ~off
                return char
            else:
                break
        raise RegexError("invalid or unsupported Perl syntax")

    def _close(self) -> None:
        if len(self._groups) == 1:
            # Parser.parseRightParen finds its stack too short and says no more than this.
            raise RegexError("regexp/syntax: internal error")
        group = self._groups.pop()
        self._flags = group.flags_before
        self._grow(2 * len(group.alternatives))
        program = group.program()
        if self._captures and group.number:
            self._grow(2)
            program = [Save(2 * group.number), *program, Save(2 * group.number + 1)]
        self._groups[-1].push(program)

    # -- escapes and classes ---------------------------------------------------------------

    def _escape(self) -> None:
        char = self._peek()
        if char in _ESCAPED_ASSERTIONS:
            self._place += 1
            self._push([_ESCAPED_ASSERTIONS[char]])
        elif char == "Q":
            end = self._text.find("\\E", self._place)
            quoted = self._text[self._place + 1 : end if end >= 0 else None]
            self._place = end + 2 if end >= 0 else len(self._text)
            for one in quoted:
                self._literal(one)
        else:
            characters = self._set()
            if not self._class_escape(characters):
                number = self._character_escape()
                characters.add(((number, number),))
            self._push([characters])

    def _class(self) -> CharacterSet:
        characters = self._set()
        if self._peek() == "^":
            self._place += 1
            characters.is_negated = True
        is_first = True
        while self._peek() != "]" or is_first:
            is_first = False
            if self._posix(characters):
                continue
            if self._peek() == "\\":
                self._place += 1
                if self._class_escape(characters):
                    continue
                self._place -= 1
            low = high = self._class_character()
            if self._peek() == "-" and not self._text.startswith("-]", self._place):
                self._place += 1
                high = self._class_character()
            if high < low:
                raise RegexError("invalid character class range")
            characters.add(((low, high),))
        self._place += 1
        return characters

    def _class_character(self) -> int:
        if not self._peek():
            raise RegexError("missing closing ]")
        char = self._take()
        return self._character_escape() if char == "\\" else ord(char)

    def _posix(self, characters: CharacterSet) -> bool:
        """Read `[:name:]` if one stands here."""
        end = self._text.find(":]", self._place)
        if not self._text.startswith("[:", self._place) or end < 0:
            return False
        name = self._text[self._place + 2 : end]
        ranges = POSIX.get(name.removeprefix("^"))
        if ranges is None:
            raise RegexError("invalid character class range")
        characters.add(ranges, negated=name.startswith("^"))
        self._place = end + 2
        return True

    def _class_escape(self, characters: CharacterSet) -> bool:
        r"""Read what follows a backslash if it stands for a class: `d`, `D`, `pN`, `p{^Greek}`."""
        char = self._peek()
        if char.lower() in PERL:
            self._place += 1
            characters.add(PERL[char.lower()], negated=char.isupper())
            return True
        if char not in ("p", "P"):
            return False
        self._place += 1
        name = self._peek()
        self._place += 1
        if name == "{":
            end = self._text.find("}", self._place)
            name = self._text[self._place : end] if end >= 0 else ""
            self._place = end + 1
        negated = (char == "P") != name.startswith("^")
        name = name.removeprefix("^")
        if not is_unicode_class(name):
            raise RegexError("invalid character class range")
        characters.add(name, negated=negated)
        return True

    def _character_escape(self) -> int:
        """Read what follows a backslash as one character; its number (Parser.parseEscape)."""
        if not self._peek():
            raise RegexError("trailing backslash at end of expression")
        char = self._take()
        if char in _CONTROLS:
            return _CONTROLS[char]
        if char == "x":
            return self._hexadecimal()
        # A single digit other than 0 would be a back-reference.
        if char == "0" or (char in _OCTAL and self._peek() in _OCTAL):
            return self._octal()
        if char.isascii() and char.isalnum():
            raise RegexError("invalid escape sequence")
        return ord(char)

    def _octal(self) -> int:
        begin = self._place - 1
        while self._peek() in _OCTAL and self._place < begin + 3:
            self._place += 1
        return int(self._text[begin : self._place], 8)

    def _hexadecimal(self) -> int:
        digits = self._text[self._place : self._place + 2]
        self._place += 2
        if digits.startswith("{"):
            end = self._text.find("}", self._place)
            digits = self._text[self._place - 1 : end] if end >= 0 else ""
            self._place = end + 1
        elif len(digits) < 2:
            digits = ""
        if not digits or set(digits) - _HEX or int(digits, 16) > MAX_CODE_POINT:
            raise RegexError("invalid escape sequence")
        return int(digits, 16)


def _is_number(text: str) -> bool:
    """Whether a repetition may say this: no zero goes before another digit (Parser.parseInt)."""
    return text.isascii() and text.isdecimal() and (text == "0" or not text.startswith("0"))
