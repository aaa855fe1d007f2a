"""Memory that logs gave back, handed on to the machine.

A log's bytes are freed when it is deleted, but the C library keeps what it may need again: after
200 MB of records were deleted a process still has most of them. `server` has one for all of its
brokers, which tell it what they deleted; a while after TRIM_BYTES it asks glibc to let go of it.
Other libraries have nothing to ask.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Final

TRIM_BYTES: Final = 64 << 20
"""To let go of so much takes some 10 ms."""
TRIM_SECONDS: Final = 0.1
"""More may be deleted in the same breath, and answers that have these bytes be sent."""


class FreedMemory:
    """Counts what was deleted since it last handed on."""

    def __init__(self) -> None:
        self._bytes = 0
        self._timer: asyncio.TimerHandle | None = None

    def gave_back(self, size_bytes: int) -> None:
        """So many bytes of records were deleted."""
        self._bytes += size_bytes
        if self._bytes >= TRIM_BYTES and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(TRIM_SECONDS, self._hand_on)

    def stop(self) -> None:
        """Hand on nothing more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _hand_on(self) -> None:
        self._timer = None
        self._bytes = 0
        trim()


def trim() -> None:
    """Have the C library give free memory back to the machine, if it can."""
    if not sys.platform.startswith("linux"):
        return
    import ctypes

    ask = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if ask is not None:  # musl has none
        ask(0)
