"""What is wrong with a fault rule, by the field that says it."""

from __future__ import annotations


class FaultError(ValueError):
    """A rule that makes no sense or could never match: one line that begins with its field."""

    def __init__(self, field: str, problem: str, allowed: str = "") -> None:
        super().__init__(f"{field}: {problem}" + (f"; allowed: {allowed}" if allowed else ""))
        self.field = field
