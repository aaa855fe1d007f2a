r"""Subscriptions by regular expression: are they valid, and which topics do they match.

Kafka's are of RE2; these are compiled by Python's `re`, after a look for what RE2 does not know:
look-around, back-references, conditionals and possessive or atomic groups are refused, `\z` and
`\C`, `\Q…\E`, `\pN` and POSIX classes are translated where they can be.

The whole name of a topic must match (Kafka: TopicRegexResolver).
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_LENGTH: Final = 10_000
_POSIX: Final = {
    "alnum": "0-9A-Za-z", "alpha": "A-Za-z", "ascii": "\\x00-\\x7f", "blank": "\\t ",
    "cntrl": "\\x00-\\x1f\\x7f", "digit": "0-9", "graph": "!-~", "lower": "a-z",
    "print": " -~", "punct": "!-/:-@\\[-`{-~", "space": "\\t\\n\\v\\f\\r ", "upper": "A-Z",
    "word": "0-9A-Za-z_", "xdigit": "0-9A-Fa-f",
}  # fmt: skip
# Topic names are of ASCII, so a Unicode class is the part of it that is.
_UNICODE: Final = {
    "L": "A-Za-z", "Lu": "A-Z", "Ll": "a-z", "N": "0-9", "Nd": "0-9", "P": "!-/:-@\\[-`{-~",
    "Latin": "A-Za-z", "Greek": "", "Cyrillic": "",
}  # fmt: skip
# What Python says, and RE2J says of the same.
_WORDS: Final = {
    "missing ), unterminated": "missing closing )",
    "unbalanced parenthesis": "unexpected )",
    "min repeat greater": "invalid repeat count",
    "nothing to repeat": "missing argument to repetition operator",
    "bad character range": "invalid character class range",
}
# Up to here RE2 allows a repetition.
_MOST_REPEATS = 1000


class RegexError(Exception):
    """The text says what is wrong, for the client that brought the expression."""


@lru_cache(maxsize=256)
def compiled(regex: str) -> re.Pattern[str]:
    """The expression, or RegexError."""
    if len(regex) > MAX_LENGTH:
        raise RegexError("expression too large")
    translated = _translate(regex)
    try:
        return re.compile(translated, re.ASCII)
    except (re.error, OverflowError, RecursionError) as error:
        raise RegexError(_in_words_of_re2(str(error))) from None


def _in_words_of_re2(text: str) -> str:
    for ours, theirs in _WORDS.items():
        if ours in text:
            return theirs
    return text


def matching(regex: str, names: Iterable[str]) -> frozenset[str]:
    """The names that it matches as a whole; none when it is no expression."""
    try:
        pattern = compiled(regex)
    except RegexError:
        return frozenset()
    return frozenset(name for name in names if pattern.fullmatch(name))


# What stands at a place outside of classes, longest first.
_TOKEN = re.compile(
    r"""
      (?P<quoted>\\Q(?P<literal>.*?)(?:\\E|\Z))
    | \\(?P<unicode>[pP])(?:\{(?P<negated>\^?)(?P<script>\w+)\}|(?P<letter>\w))
    | \\(?P<escape>x\{[0-9A-Fa-f]+\}|.|\Z)
    | \(\?(?P<group>P<|P=|P>|<=|<!|<|[=!>#(]|\w*-?\w*[:)])?
    | (?P<repeat>\{\d+(?:,\d*)?\}|[*+?])(?P<more>[?+*]|\{\d+(?:,\d*)?\})?
    | (?P<class>\[\^?\]?)
    | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)
# Alike in both; what is not here, RE2 does not know.
_SAME_ESCAPES: Final = frozenset("dDsSwWbBAtnrfvax")


def _translate(regex: str) -> str:
    out: list[str] = []
    place = 0
    while place < len(regex):
        token = _TOKEN.match(regex, place)
        assert token is not None
        place = token.end()
        if token["quoted"] is not None:
            out.append(re.escape(token["literal"]))
        elif token["unicode"] is not None:
            out.append(f"[{_unicode_class(token)}]" if _unicode_class(token) else "[^\\s\\S]")
        elif token["escape"] is not None:
            out.append(_escape(token["escape"], in_class=False))
        elif token[0].startswith("(?"):
            out.append(_group(token))
        elif token["repeat"] is not None:
            out.append(_repeat(token))
        elif token["class"] is not None:
            text, place = _class(regex, token)
            out.append(text)
        else:
            out.append("\\Z" if token[0] == "$" else token[0])
    return "".join(out)


def _escape(what: str, *, in_class: bool) -> str:
    if not what:
        raise RegexError("trailing backslash at end of expression")
    if what.startswith("x{"):
        number = int(what[2:-1], 16)
        if number > 0x10FFFF:
            raise RegexError(f"invalid escape sequence: `\\{what}`")
        return re.escape(chr(number))
    if what == "z" and not in_class:
        return "\\Z"
    if what == "C" and not in_class:
        return "[\\s\\S]"
    if what.isalnum() and what not in _SAME_ESCAPES and what != "0":
        raise RegexError(f"invalid escape sequence: `\\{what}`")
    return f"\\{what}"


def _unicode_class(token: re.Match[str]) -> str:
    name = token["script"] or token["letter"]
    if name not in _UNICODE:
        raise RegexError("invalid character class range")
    if (token["unicode"] == "P") != bool(token["negated"]):
        return f"^{_UNICODE[name]}" if _UNICODE[name] else "\\s\\S"
    return _UNICODE[name]


def _group(token: re.Match[str]) -> str:
    kind = token["group"]
    if kind is None or kind in ("P=", "P>", "<=", "<!") or kind[0] in "=!>#(":
        raise RegexError("invalid or unsupported Perl syntax")
    if kind == "<":
        return "(?P<"
    flags = kind[:-1]
    if kind == "P<" or not flags:
        return token[0]
    if set(flags) - set("imsU-") or "U" in flags:
        raise RegexError("invalid or unsupported Perl syntax")
    # Python wants flags of the whole at its beginning, and knows none that end inside.
    if kind.endswith(")"):
        if token.start():
            raise RegexError("unsupported flags inside of an expression")
        return f"(?{flags.replace('-', '')})" if flags.replace("-", "") else ""
    return token[0]


def _repeat(token: re.Match[str]) -> str:
    if token["more"] is not None and token["more"] != "?":
        raise RegexError("invalid nested repetition operator")
    numbers = re.findall(r"\d+", token["repeat"])
    if any(int(number) > _MOST_REPEATS for number in numbers):
        raise RegexError("invalid repeat count")
    return token[0]


_CLASS_TOKEN = re.compile(
    r"""
      \[:(?P<not>\^?)(?P<posix>\w+):\]
    | \\(?P<unicode>[pP])(?:\{(?P<negated>\^?)(?P<script>\w+)\}|(?P<letter>\w))
    | \\(?P<escape>x\{[0-9A-Fa-f]+\}|.|\Z)
    | (?P<end>\])
    | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)


def _class(regex: str, opening: re.Match[str]) -> tuple[str, int]:
    """The class that opens here, and where it ends."""
    out = [opening[0]]
    place = opening.end()
    while place < len(regex):
        token = _CLASS_TOKEN.match(regex, place)
        assert token is not None
        place = token.end()
        if token["end"] is not None:
            return "".join((*out, "]")), place
        if token["posix"] is not None:
            if token["posix"] not in _POSIX or token["not"]:
                raise RegexError("invalid character class range")
            out.append(_POSIX[token["posix"]])
        elif token["unicode"] is not None:
            part = _unicode_class(token)
            if part.startswith("^"):
                raise RegexError("unsupported character class")
            out.append(part)
        elif token["escape"] is not None:
            out.append(_escape(token["escape"], in_class=True))
        else:
            out.append(re.escape(token[0]) if token[0] in "[&~|" else token[0])
    raise RegexError("missing closing ]")
