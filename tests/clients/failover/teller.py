"""A program's side of a failover: it tells what happens as lines of JSON (see `program`)."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class Teller:
    """What a client's threads tell. `answered` counts the records that have an answer."""

    def __init__(self) -> None:
        self.answered = 0
        self._lock = threading.Lock()

    def acknowledge(self, number: int, partition: int, offset: int) -> None:
        self._tell("acknowledged", number, partition, offset, answers=1)

    def refuse(self, number: int, why: str) -> None:
        self._tell("refused", number, why, answers=1)

    def paused(self) -> None:
        """All that was sent has an answer."""
        self._tell("paused")

    def read(self, member: int, partition: int, offset: int, number: int) -> None:
        self._tell("read", member, partition, offset, number)

    def try_commit(self, ends: Mapping[int, int]) -> None:
        self._tell("committing", dict(ends))

    def committed(self, ends: Mapping[int, int]) -> None:
        self._tell("committed", dict(ends))

    def left(self, member: int) -> None:
        """The member is closed."""
        self._tell("left", member)

    def fail(self, why: str) -> None:
        self._tell("failed", why)

    def _tell(self, *words: object, answers: int = 0) -> None:
        line = json.dumps(words)
        with self._lock:
            self.answered += answers
            print(line, flush=True)
