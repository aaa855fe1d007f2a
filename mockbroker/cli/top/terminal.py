"""The terminal of `mockbroker top`: once it is gone, nobody can see the screen or press a key.

Called by `command` before the screen is drawn. A terminal that controls the process ends it by
SIGHUP; one that does not, as in a shell of a container, goes without a word: Textual then reads an
end of file again and again, and waits for ever to write.
"""

from __future__ import annotations

import os
from threading import Event, Thread
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

_LOOK_S: Final = 0.5
_STATUS: Final = 129
"""Of a program that SIGHUP (1) ended, as shells tell it."""


def end_with(descriptor: int) -> None:
    """End the process when this terminal is gone, whatever its other threads wait for."""
    Thread(target=watch, args=(descriptor, os._exit), daemon=True, name="terminal").start()


def watch(
    descriptor: int, end: Callable[[int], object], wait: Callable[[float], bool] | None = None
) -> None:
    """Call `end` with an exit status once the descriptor is no terminal any more."""
    pause = Event().wait if wait is None else wait
    while os.isatty(descriptor):
        pause(_LOOK_S)
    end(_STATUS)
