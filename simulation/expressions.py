r"""Regular expressions as clients write them, drawn at random, each with what it means in Python.

A broker reads RE2's syntax, and Python's `re` is another reader: `Expression.python` says the same
in words that both know, for texts of ASCII letters, digits and signs. So whoever asks a broker by
an expression knows which names must match, also of `\Q…\E`, `\p{Lu}` or `[[:alpha:]]`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from random import Random

DEPTH: Final = 2
ATOMS: Final = (
    ("t", "t"),
    ("x", "x"),
    ("n", "n"),
    ("0", "0"),
    ("_", "_"),
    (".", "."),
    ("(?s:.)", "."),
    ("txn", "txn"),
    (r"\.", r"\."),
    (r"\Qt.\E", r"t\."),
    (r"\x74", "t"),
    (r"\x{74}", "t"),
    (r"\164", "t"),
    (r"\d", "[0-9]"),
    (r"\D", "[^0-9]"),
    (r"\w", "[A-Za-z0-9_]"),
    (r"\S", r"\S"),
    (r"\pL", "[A-Za-z]"),
    (r"\PN", "[^0-9]"),
    (r"\p{Ll}", "[a-z]"),
    (r"\p{^Nd}", "[^0-9]"),
    (r"\P{Latin}", "[^A-Za-z]"),
    (r"\p{Any}", "."),
    ("[tx]", "[tx]"),
    ("[^x]", "[^x]"),
    ("[0-9]", "[0-9]"),
    ("[a-fn-z]", "[a-fn-z]"),
    ("[]t-]", "[]t-]"),
    (r"[\x30-\x39n]", "[0-9n]"),
    (r"[\d_]", "[0-9_]"),
    (r"[^\W0]", "[A-Za-z1-9_]"),
    (r"[\pN.]", "[0-9.]"),
    ("[[:alpha:]]", "[A-Za-z]"),
    ("[[:^digit:]_]", "[^0-9]"),
    ("[[:word:]]", "[A-Za-z0-9_]"),
    ("(?i:T)", "[tT]"),
    ("(?i:[S-U])", "[s-uS-U]"),
    (r"(?i:\x{54})", "[tT]"),
    ("(?U:t*)", "t*"),
    ("(?i-i:t)", "t"),
    ("(?m:^t)", "^t"),
    ("(?m:0$)", "0$"),
    ("^", "^"),
    ("$", "$"),
    (r"\A", r"\A"),
    (r"\z", r"\Z"),
    (r"\b", r"\b"),
    (r"\B", r"(?!\b)"),
    ("(?P<name>t)", "(?:t)"),
    ("(?<name>x)", "(?:x)"),
    ("{", r"\{"),
    ("a{,2}", r"a\{,2\}"),
)
"""What stands for itself, in RE2's syntax and in Python's."""
REPEATABLE: Final = frozenset(range(len(ATOMS))) - {
    at for at, (text, _) in enumerate(ATOMS) if text.startswith(("^", "$", "{", r"\A", r"\z"))
}
REPEATS: Final = ("*", "+", "?", "{2}", "{1,2}", "{0,}", "{0}", "*?", "+?", "??", "{1,3}?")
BAD: Final = (
    "txn(", "txn)", "[a", "a{2,1}", "a{1001}", "*", "a**", "(?z)", "(?i", "(?P<a",
    "(?P<a>t)(?P<a>x)", "[z-a]", r"\8", r"\x", r"\x{zz}", "[[:no:]]", r"\p{No such}", r"\pX",
    "t\\", r"\c", "(?P<a b>t)",
)  # fmt: skip
"""What is none."""
LARGE: Final = "((t{1000}){1000})"


class Expression(NamedTuple):
    """What is sent, and the same for Python's `re`; None: it is none, and is refused."""

    text: str
    python: str | None

    def matches(self, name: str) -> bool:
        """Whether the whole name matches."""
        return self.python is not None and re.fullmatch(self.python, name, re.ASCII) is not None


def draw_expression(rng: Random) -> Expression:
    """A good one, which may match nothing."""
    return Expression(*_sequence(rng, DEPTH))


def draw_any_expression(rng: Random) -> Expression:
    """A good one or a bad one."""
    if rng.random() < 0.2:
        return Expression(rng.choice((*BAD, LARGE)), None)
    return draw_expression(rng)


def _sequence(rng: Random, depth: int) -> tuple[str, str]:
    texts, meanings = [], []
    named = False
    for _ in range(rng.randint(1, 3)):
        text, meaning = _part(rng, depth)
        if "<name>" in text:
            if named:
                continue  # a name may be given once
            named = True
        texts.append(text)
        meanings.append(meaning)
    return "".join(texts), "".join(meanings)


def _part(rng: Random, depth: int) -> tuple[str, str]:
    if depth and rng.random() < 0.3:
        ways = [_nameless(rng, depth - 1) for _ in range(rng.randint(1, 3))]
        opening = rng.choice(("(", "(?:"))
        text = f"{opening}{'|'.join(text for text, _ in ways)})"
        meaning = f"(?:{'|'.join(meaning for _, meaning in ways)})"
    else:
        at = rng.randrange(len(ATOMS))
        text, meaning = ATOMS[at]
        if at not in REPEATABLE:
            return text, meaning
    if rng.random() < 0.4:
        repeat = rng.choice(REPEATS)
        return f"(?:{text}){repeat}", f"(?:{meaning}){repeat}"
    return text, meaning


def _nameless(rng: Random, depth: int) -> tuple[str, str]:
    while True:
        text, meaning = _sequence(rng, depth)
        if "<name>" not in text:
            return text, meaning
