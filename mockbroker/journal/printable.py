"""Texts of clients as they may stand on a terminal and in a line of a log.

A client chooses its id, its group's and much else freely: control characters among it would move
the cursor or forge a line, and a name of 32 KB would hide what a line is about. `server.event_log`,
the commands and `state` call this where such a text leaves for a person's eyes.
"""

from __future__ import annotations

from typing import Final

MAX_CHARACTERS: Final = 256


def printable(text: str, most: int | None = None) -> str:
    """The text with what cannot be printed as escapes; of more than `most` characters the first."""
    if most is not None and len(text) > most:
        text = f"{text[:most]}…"
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else _escape(one) for one in text)


def printable_lines(text: str) -> str:
    """The same for a text of several lines, which stay."""
    return "\n".join(printable(line) for line in text.split("\n"))


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode()
