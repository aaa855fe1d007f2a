"""Standard streams that are closed, or that nothing can be written to.

A descriptor below 3 that is closed would be given to the next file or socket, which the event loop
does not allow; and what could not be written would be tried again at the end of the process, and
change its exit status. Called by `app` and by the commands.
"""

from __future__ import annotations

import os
import sys


def open_closed() -> list[str]:
    """Let streams that were closed before this process began lead to the null device; which."""
    closed = []
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            closed.append(name)
            _lead_nowhere(number)
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115
    return closed


def write_line(text: str) -> OSError | None:
    """Write a line to standard output now; why it cannot be, or None.

    A stream that cannot be written leads to the null device from then on.
    """
    try:
        print(text, flush=True)
    except OSError as error:
        _lead_nowhere(1)
        return error
    return None


def _lead_nowhere(number: int) -> None:
    opened = os.open(os.devnull, os.O_RDWR)
    if opened != number:
        os.dup2(opened, number)
        os.close(opened)
