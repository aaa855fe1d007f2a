"""A reader that counts what it is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.replica.hosted_log import PartitionReader

if TYPE_CHECKING:
    from collections.abc import Hashable


class Watcher(PartitionReader):
    """One that waits under `key`, if any."""

    def __init__(self, key: str | None = None) -> None:
        self.linked = False
        self.next_watcher = self.previous_watcher = None
        self.marks = 0
        self.left: list[int] = []
        self.key = key

    def mark(self) -> None:
        self.marks += 1

    def mark_rolled(self, left_segment: int) -> None:
        self.left.append(left_segment)

    def wait_key(self) -> Hashable | None:
        return self.key
