"""What is wrong with a fault rule, by the field that says it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


class FaultError(ValueError):
    """A rule that makes no sense or could never match: one line that begins with its field."""

    def __init__(self, field: str, problem: str, allowed: str = "") -> None:
        super().__init__(f"{field}: {problem}" + (f"; allowed: {allowed}" if allowed else ""))
        self.field = field


def nearest(name: str, known: Sequence[str]) -> str:
    """The names that are most like an unknown one, else all of them."""
    from difflib import get_close_matches

    return ", ".join(get_close_matches(name, known, n=3) or known)
