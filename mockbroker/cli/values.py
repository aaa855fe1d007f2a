"""What commands are given as text: durations, pairs, rules. Raises CommandError."""

from __future__ import annotations

import json
import re
import sys
from typing import Any, Final

from mockbroker.cli.errors import CommandError

_UNITS: Final = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_DURATION: Final = re.compile(r"([+-]?\d+(?:\.\d+)?)(ms|s|m|h|d)")


def milliseconds(option: str, text: str) -> float:
    """A duration with its unit: 500ms, 1.5s, 15m, 24h, 7d; negative ones too."""
    found = _DURATION.fullmatch(text.strip())
    if found is None:
        message = f"{option}: {text!r} is no duration; allowed: a number with ms, s, m, h or d"
        raise CommandError(message)
    return float(found[1]) * _UNITS[found[2]]


def pairs(option: str, texts: list[str] | None) -> dict[str, str]:
    """KEY=VALUE, several times."""
    found = {}
    for text in texts or ():
        key, equals, value = text.partition("=")
        if not key or not equals:
            raise CommandError(f"{option}: {text!r} has no value; allowed: KEY=VALUE")
        found[key] = value
    return found


def offsets(texts: list[str]) -> list[dict[str, object]]:
    """TOPIC:PARTITION:OFFSET, several times."""
    found: list[dict[str, object]] = []
    for text in texts:
        topic, _, numbers = text.partition(":")
        partition, _, offset = numbers.partition(":")
        if not topic or not partition.isdecimal() or not offset.isdecimal():
            message = f"OFFSET: {text!r} is none; allowed: TOPIC:PARTITION:OFFSET"
            raise CommandError(message)
        found.append({"topic": topic, "partition": int(partition), "offset": int(offset)})
    return found


def tables(option: str, text: str) -> list[Any]:
    """Fault rules, or actions: JSON of one or a list, @FILE with that, or - for stdin."""
    if text.startswith("@"):
        try:
            with open(text[1:], encoding="utf-8") as stream:
                text = stream.read()
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(f"{option}: {text[1:]}: {error}") from None
    elif text == "-":
        text = sys.stdin.read()
    try:
        found = json.loads(text)
    except ValueError as error:
        message = f"{option}: it is not JSON: {error}; allowed: JSON, @FILE or -"
        raise CommandError(message) from None
    return found if isinstance(found, list) else [found]


def arguments(texts: list[str]) -> dict[str, object]:
    """KEY=VALUE of a preset; values are JSON where they can be, else text."""
    found: dict[str, object] = {}
    for key, value in pairs("ARGUMENT", texts).items():
        try:
            found[key] = json.loads(value)
        except ValueError:
            found[key] = value
    return found
