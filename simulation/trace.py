"""What happened in a run, in order, and a hash of it: two runs of one seed must agree on both.

Every actor notes what it does; `World` keeps one trace. The last events are what a failing seed
prints, the hash is what shows that nothing but the seed decided.
"""

from __future__ import annotations

from collections import deque
from zlib import crc32

KEPT_EVENTS = 80


class Trace:
    """Notes go in; `last` gives the latest of them as lines, `digest` a hash over all."""

    def __init__(self, kept: int = KEPT_EVENTS) -> None:
        self._last: deque[tuple[float, str, str]] = deque(maxlen=kept)
        self._digest = 0
        self.count = 0

    def note(self, now_ms: float, who: str, what: str) -> None:
        """`who` did `what` at this time."""
        self.count += 1
        self._last.append((now_ms, who, what))
        self._digest = crc32(f"{now_ms!r}{who}{what}".encode(), self._digest)

    def digest(self) -> str:
        """The hash of all notes so far."""
        return f"{self.count}-{self._digest:08x}"

    def last(self) -> list[str]:
        """The latest notes as lines, oldest first."""
        return [f"{now_ms:12.3f}  {who:<12} {what}" for now_ms, who, what in self._last]
