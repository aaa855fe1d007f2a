"""Counts what a purgatory and its timer do, as a measure of cost that no busy machine disturbs.

`counting` puts counters into a live `Timer` and `Purgatory`: touches of timer buckets (look-up,
insertion, removal or visit of one), pushes to and pops from the timer's heap, touches of watch
lists, and heaps built anew with the number of entries that were moved for it.
"""

from __future__ import annotations

import heapq
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar
from unittest.mock import patch

from mockbroker import clock

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mockbroker.clock import Timer
    from mockbroker.purgatory.purgatory import Purgatory

K = TypeVar("K")
V = TypeVar("V")


class CountingDict(dict[K, V]):
    """A dict that counts each key that is touched, those of a walk too."""

    def __init__(self, content: dict[K, V], counts: Counter[str], name: str) -> None:
        super().__init__(content)
        self._counts = counts
        self._name = name

    def get(self, key: K, default: V | None = None) -> V | None:  # type: ignore[override]
        self._counts[self._name] += 1
        return super().get(key, default)

    def pop(self, key: K, default: V | None = None) -> V | None:  # type: ignore[override]
        self._counts[self._name] += 1
        return super().pop(key, default)

    def __contains__(self, key: object) -> bool:
        self._counts[self._name] += 1
        return super().__contains__(key)

    def __getitem__(self, key: K) -> V:
        self._counts[self._name] += 1
        return super().__getitem__(key)

    def __setitem__(self, key: K, value: V) -> None:
        self._counts[self._name] += 1
        super().__setitem__(key, value)

    def __delitem__(self, key: K) -> None:
        self._counts[self._name] += 1
        super().__delitem__(key)

    def __iter__(self) -> Iterator[K]:
        self._counts[self._name] += len(self)
        return super().__iter__()


@contextmanager
def counting(timer: Timer, purgatory: Purgatory) -> Iterator[Counter[str]]:
    """Count what is done to both within the `with`."""
    counts: Counter[str] = Counter()
    buckets, watchers = timer._buckets, purgatory._watchers
    timer._buckets = CountingDict(buckets, counts, "timer buckets")
    purgatory._watchers = CountingDict(watchers, counts, "watch lists")

    def push(heap: list[int], item: int) -> None:
        counts["heap pushes"] += heap is timer._heap  # another thread's broker has its own
        heapq.heappush(heap, item)

    def pop(heap: list[int]) -> int:
        counts["heap pops"] += heap is timer._heap
        return heapq.heappop(heap)

    def rebuild(heap: list[int]) -> None:
        counts["heap entries moved"] += len(heap)
        heapq.heapify(heap)

    with patch.multiple(clock, heappush=push, heappop=pop, heapify=rebuild):
        try:
            yield counts
        finally:
            timer._buckets = dict(timer._buckets.items())
            purgatory._watchers = dict(purgatory._watchers.items())
