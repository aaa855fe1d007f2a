"""`ssl.principal.mapping.rules`: short names of the clients that certificates name.

`server.tls_listener` asks it for the subject of each client's certificate. A rule is
`RULE:pattern/replacement/`, with `L` or `U` behind it for a name in lower or upper case, or
`DEFAULT`; the first that matches the whole subject makes the name (Kafka: SslPrincipalMapper).
Patterns are matched in linear time (`re2`), as a certificate is a stranger's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.config.errors import ConfigError
from mockbroker.re2.captures import CapturingExpression
from mockbroker.re2.expression import compiled
from mockbroker.re2.parser import RegexError

if TYPE_CHECKING:
    from mockbroker.re2.captures import Captures

_DEFAULT: Final = "DEFAULT"
_RULE: Final = "RULE:"


class PrincipalRules:
    """The rules of one listener. Raises ConfigError for a text that is none."""

    def __init__(self, text: str) -> None:
        self._rules: list[_Rule | None] = []
        rest = text.strip()
        while rest:
            if rest.startswith(_DEFAULT):
                self._rules.append(None)
                rest = rest.removeprefix(_DEFAULT)
            else:
                rule, rest = _read_rule(text, rest)
                self._rules.append(rule)
            rest = rest.strip()
            if rest and not rest.startswith(","):
                raise _invalid(text, rest)
            rest = rest[1:].strip()

    def name_of(self, subject: str) -> str | None:
        """The name, or None where no rule applies."""
        for rule in self._rules:
            if rule is None:
                return subject
            if rule.matches(subject):
                return rule.apply(subject)
        return None


class _Rule:
    def __init__(self, pattern: str, replacement: str, case: str) -> None:
        try:
            self.matches = compiled(pattern).fullmatch
            self._expression = CapturingExpression(pattern)
        except RegexError as error:
            raise ConfigError(f"Invalid rule: {pattern} is no pattern ({error})") from None
        self._parts = _parts_of(replacement, self._expression)
        self._case = case

    def apply(self, subject: str) -> str:
        """The name that it makes of a subject that it matches."""

        def made(found: Captures) -> str:
            return "".join(
                part
                if isinstance(part, str)
                else subject[found[2 * part] or 0 : found[2 * part + 1] or 0]
                for part in self._parts
            )

        name = self._expression.replace_all(subject, made)
        return name.lower() if self._case == "L" else name.upper() if self._case == "U" else name


def _read_rule(whole: str, text: str) -> tuple[_Rule, str]:
    """The rule that the text begins with, and what is behind it."""
    if not text.startswith(_RULE):
        raise _invalid(whole, text)
    begin = len(_RULE)
    middle = _slash(text, begin)
    end = _slash(text, middle + 1) if middle > 0 else -1
    if end < 0:
        raise _invalid(whole, text)
    case = text[end + 1 : end + 2]
    case = case if case in ("L", "U") else ""
    rule = _Rule(text[begin:middle].strip(), text[middle + 1 : end], case)
    return rule, text[end + 1 + len(case) :]


def _slash(text: str, begin: int) -> int:
    """The next one without a backslash before it, or -1."""
    place = begin
    while place < len(text):
        if text[place] == "/":
            return place
        place += 2 if text[place] == "\\" else 1
    return -1


def _parts_of(replacement: str, expression: CapturingExpression) -> list[str | int]:
    """Texts and numbers of groups, as Java's replacements have them (Matcher.appendReplacement)."""
    parts: list[str | int] = []
    place = 0
    while place < len(replacement):
        char = replacement[place]
        place += 1
        if char == "\\":
            parts.append(replacement[place : place + 1])
            place += 1
        elif char != "$":
            parts.append(char)
        else:
            part, place = _reference(replacement, place, expression)
            parts.append(part)
    return parts


def _reference(text: str, place: int, expression: CapturingExpression) -> tuple[str | int, int]:
    """What a dollar stands for; Kafka leaves one as it is whose group there is not."""
    if text.startswith("{", place):
        end = text.find("}", place)
        name = text[place + 1 : end]
        if end < 0 or name not in expression.names:
            raise ConfigError(f"Invalid rule: there is no group {name} for {text}")
        return expression.names[name], end + 1
    digits = ""
    while place < len(text) and text[place] in "0123456789":
        if digits and int(digits + text[place]) > expression.groups:
            break
        digits += text[place]
        place += 1
    if not digits:
        raise ConfigError(f"Invalid rule: a $ in {text} names no group")
    number = int(digits)
    return (number, place) if number <= expression.groups else (f"${digits}", place)


def _invalid(whole: str, rest: str) -> ConfigError:
    return ConfigError(f"Invalid rule: `{whole}`, unmatched substring: `{rest}`")
