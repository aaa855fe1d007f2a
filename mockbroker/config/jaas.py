"""The text of a JAAS entry, as `sasl.jaas.config` has it (Kafka: JaasConfig, JaasContext).

    LOGIN-MODULE required NAME="value" NAME='value' ...;

Words and strings are split as Java's StreamTokenizer does it. Errors name options, never values:
most of these are secrets.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from mockbroker.config.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_FLAGS: Final = ("REQUIRED", "REQUISITE", "SUFFICIENT", "OPTIONAL")
_TOKEN: Final = re.compile(
    r"""(?P<blank>[\x00-\x20]+|//[^\n]*|/\*.*?(?:\*/|\Z)|/[^\n]*)
    |(?P<number>[-.]?[0-9][0-9.]*)
    |(?P<word>[A-Za-z_$\u00a0-\uffff-][\w.$-]*)
    |"(?P<double>(?:\\.|[^"\\\n])*)"?
    |'(?P<single>(?:\\.|[^'\\\n])*)'?
    |(?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE: Final = re.compile(r"\\([0-3]?[0-7]{1,2}|.)", re.DOTALL)
_ESCAPED: Final = {"a": "\x07", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


class JaasEntry:
    """One login module and its options. It prints without them."""

    __slots__ = ("module", "options")

    def __init__(self, module: str, options: Mapping[str, str]) -> None:
        self.module = module
        self.options = options

    def __repr__(self) -> str:
        return f"JaasEntry({self.module!r})"


def parse_jaas(text: str) -> JaasEntry:
    """The one entry of the text. Raises ConfigError, without any value in its message."""
    entries = []
    tokens = _tokens(text)
    for _, module in tokens:
        entries.append(_entry(module, tokens))
    if not entries:
        raise ConfigError("Login module not specified in JAAS config")
    if len(entries) > 1:
        raise ConfigError(
            f"JAAS config property contains {len(entries)} login modules, should be 1 module"
        )
    return entries[0]


def _entry(module: str | None, tokens: Iterator[tuple[str, str | None]]) -> JaasEntry:
    _, flag = next(tokens, ("", ""))
    if flag == "":
        raise ConfigError("Login module control flag not specified in JAAS config")
    if flag is None:
        raise ConfigError("Login module control flag is not available in the JAAS config")
    if flag.upper() not in _FLAGS:
        raise ConfigError("Invalid login module control flag in JAAS config")
    options: dict[str, str] = {}
    for kind, key in tokens:
        if kind == ";":
            return JaasEntry(module or "", options)
        sign, _ = next(tokens, ("", None))
        value = next(tokens, ("", None))[1] if sign == "=" else None
        if value is None:
            # A key that is none may be a part of a value whose quotes are missing.
            named = "" if key is None or not re.fullmatch(r"[\w.-]+", key) else f" '{key}'"
            raise ConfigError(f"Value not specified for key{named} in JAAS config")
        options[key or ""] = value
    raise ConfigError("JAAS config entry not terminated by semi-colon")


def _tokens(text: str) -> Iterator[tuple[str, str | None]]:
    """Kind and value of each; only words and strings have a value."""
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or "string"
        if kind in ("double", "single"):
            yield "string", _ESCAPE.sub(_unescaped, match[kind])
        elif kind == "word":
            yield "word", match[0]
        elif kind == "number":
            yield "number", None
        elif kind == "other":
            yield match[0], None


def _unescaped(match: re.Match[str]) -> str:
    code = match[1]
    return chr(int(code, 8)) if code.isdigit() and code < "8" else _ESCAPED.get(code, code)
