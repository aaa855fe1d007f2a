r"""Sets of characters: what `[…]`, `\d`, `[:alpha:]`, `\pL` and a plain character stand for.

General categories are those of Python's Unicode tables, a script is told by the beginning of its
characters' names, and letters are alike under `(?i)` when one is the other's upper, lower or title
case: for ASCII all of this is what RE2 does.
"""

from __future__ import annotations

import unicodedata
from typing import Final, TypeAlias

# First and last code points.
Ranges: TypeAlias = "tuple[tuple[int, int], ...]"

MAX_CODE_POINT: Final = 0x10FFFF
WORD: Final[Ranges] = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))

PERL: Final[dict[str, Ranges]] = {
    "d": ((0x30, 0x39),),
    "s": ((0x09, 0x0A), (0x0C, 0x0D), (0x20, 0x20)),
    "w": WORD,
}
POSIX: Final[dict[str, Ranges]] = {
    "alnum": ((0x30, 0x39), (0x41, 0x5A), (0x61, 0x7A)),
    "alpha": ((0x41, 0x5A), (0x61, 0x7A)),
    "ascii": ((0x00, 0x7F),),
    "blank": ((0x09, 0x09), (0x20, 0x20)),
    "cntrl": ((0x00, 0x1F), (0x7F, 0x7F)),
    "digit": ((0x30, 0x39),),
    "graph": ((0x21, 0x7E),),
    "lower": ((0x61, 0x7A),),
    "print": ((0x20, 0x7E),),
    "punct": ((0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)),
    "space": ((0x09, 0x0D), (0x20, 0x20)),
    "upper": ((0x41, 0x5A),),
    "word": WORD,
    "xdigit": ((0x30, 0x39), (0x41, 0x46), (0x61, 0x66)),
}
# The first letter of a category, and the second ones.
_CATEGORIES: Final = {
    "C": "cfos", "L": "lmotu", "M": "cen", "N": "dlo", "P": "cdefios", "S": "ckmo", "Z": "lps",
}  # fmt: skip
_SCRIPTS: Final = {
    "Arabic": "ARABIC ", "Armenian": "ARMENIAN ", "Cyrillic": "CYRILLIC ",
    "Devanagari": "DEVANAGARI ", "Georgian": "GEORGIAN ", "Greek": "GREEK ", "Han": "CJK UNIFIED ",
    "Hangul": "HANGUL ", "Hebrew": "HEBREW ", "Hiragana": "HIRAGANA ", "Katakana": "KATAKANA ",
    "Latin": "LATIN ", "Thai": "THAI ",
}  # fmt: skip


def is_unicode_class(name: str) -> bool:
    r"""Whether `\p{name}` is known."""
    if name == "Any" or name in _SCRIPTS:
        return True
    return name in _CATEGORIES or (len(name) == 2 and name[1] in _CATEGORIES.get(name[0], ""))


class CharacterSet:
    """The union of its parts, or all but that; each part is ranges or the name of a class."""

    __slots__ = ("_folds", "_parts", "is_negated")

    def __init__(self, *, folds: bool, is_negated: bool = False) -> None:
        self._folds = folds
        self.is_negated = is_negated
        self._parts: list[tuple[Ranges | str, bool]] = []

    def add(self, part: Ranges | str, *, negated: bool = False) -> CharacterSet:
        """Put in ranges or a Unicode class, or all that is not in them."""
        self._parts.append((part, negated))
        return self

    def __contains__(self, char: str) -> bool:
        variants = {char}
        if self._folds:
            variants |= {char.lower(), char.upper(), char.title()}
        found = any(
            any(_is_in(part, one) for one in variants if len(one) == 1) != negated
            for part, negated in self._parts
        )
        return found != self.is_negated


def _is_in(part: Ranges | str, char: str) -> bool:
    if not isinstance(part, str):
        number = ord(char)
        return any(low <= number <= high for low, high in part)
    if part == "Any":
        return True
    script = _SCRIPTS.get(part)
    if script is not None:
        return unicodedata.name(char, "").startswith(script)
    category = unicodedata.category(char)
    return category.startswith(part) and category != "Cn"
