"""Work that a thread does beside the loop of a server: what the core cannot divide into slices.

`request_handler` gives it pieces that touch nothing of the core (see `Aside`), in native code that
lets the loop run meanwhile. There is one thread at most, and none when nothing is to be done.

Invariant: what is called back is called in the loop, as a step of its own; never once that is
closed.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker_protocol.slices import Aside


class Beside:
    """The thread of one server. `end_step` ends each step that it begins."""

    def __init__(self, end_step: Callable[[], None]) -> None:
        self._end_step = end_step
        self._queue: deque[tuple[Aside[object], Callable[[], None]]] = deque()
        self._working = False

    def do(self, work: Aside[object], then: Callable[[], None]) -> None:
        """Have it done, after what was given before, and call `then`. Call it in the loop."""
        self._queue.append((work, then))
        if not self._working:
            self._begin(asyncio.get_running_loop())

    def _begin(self, loop: asyncio.AbstractEventLoop) -> None:
        from threading import Thread

        self._working = True
        work, then = self._queue.popleft()

        def run() -> None:
            work.run()
            with suppress(RuntimeError):  # the loop was closed meanwhile
                loop.call_soon_threadsafe(self._done, loop, then)

        Thread(target=run, name="mockbroker-beside", daemon=True).start()

    def _done(self, loop: asyncio.AbstractEventLoop, then: Callable[[], None]) -> None:
        if self._queue:
            self._begin(loop)
        else:
            self._working = False
        then()
        self._end_step()
