"""What ends a command."""

from __future__ import annotations


class CommandError(Exception):
    """One line for the user; the exit status is 2, or 1 for what a check found wrong."""

    def __init__(self, message: str, status: int = 2) -> None:
        super().__init__(message)
        self.status = status
