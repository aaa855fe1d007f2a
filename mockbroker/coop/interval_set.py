"""Sets of offsets as sorted ranges that never touch, made for many of them.

Ranges stand in blocks of two arrays, 16 bytes a range: what is looked for is found by bisection,
and what is put in or taken out moves the rest of one block, so the cost of a change grows with the
logarithm of their number. Both ends of a range are in it.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_BLOCK: Final = 512
"""Ranges in a block when it was split; one holds twice as many at most."""


class OffsetRange(NamedTuple):
    """Offsets from `first` to `last`, ends included."""

    first: int
    last: int


class _Place(NamedTuple):
    """A range by the number of its block and its number there; -1: before the first one."""

    block: int
    at: int


class IntervalSet:
    """Ranges of offsets in order, no two of which overlap.

    `add` and `discard` keep them apart from each other too; `insert` and `remove` are for whoever
    must know each range again, as the keys of a log are.
    """

    __slots__ = ("_count", "_firsts", "_lasts", "_starts")

    def __init__(self, ranges: Iterable[tuple[int, int]] = ()) -> None:
        self._starts: list[int] = []
        self._firsts: list[array[int]] = []
        self._lasts: list[array[int]] = []
        self._count = 0
        for first, last in ranges:
            self.add(first, last)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[OffsetRange]:
        for firsts, lasts in zip(self._firsts, self._lasts, strict=True):
            yield from map(OffsetRange, firsts, lasts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IntervalSet) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]  # it changes

    def __repr__(self) -> str:
        return "{" + ",".join(f"{first}-{last}" for first, last in self) + "}"

    @property
    def size_bytes(self) -> int:
        """What the ranges take, as they stand in memory."""
        return sum(
            each.buffer_info()[1] * each.itemsize + 64
            for blocks in (self._firsts, self._lasts)
            for each in blocks
        )

    # -- what is there ---------------------------------------------------------------------

    def lowest(self) -> OffsetRange | None:
        """The first range."""
        return OffsetRange(self._firsts[0][0], self._lasts[0][0]) if self._count else None

    def highest(self) -> OffsetRange | None:
        """The last range."""
        return OffsetRange(self._firsts[-1][-1], self._lasts[-1][-1]) if self._count else None

    def before(self, offset: int) -> OffsetRange | None:
        """The last range that begins at `offset` or before."""
        return self._at(self._find(offset))

    def after(self, offset: int) -> OffsetRange | None:
        """The first range that begins behind `offset`."""
        return self._at(self._next(self._find(offset)))

    def covers(self, first: int, last: int) -> bool:
        """Whether one range has all of these offsets."""
        found = self.before(first)
        return found is not None and found.last >= last

    def overlaps(self, first: int, last: int) -> bool:
        """Whether any of these offsets is in."""
        if self._is_behind_all(first):
            return False
        found = self.before(last)
        return found is not None and found.last >= first

    def within(self, first: int, last: int) -> Iterator[OffsetRange]:
        """The ranges with any of these offsets, whole; the set must not change meanwhile."""
        place = self._find(first)
        found = self._at(place)
        if found is None or found.last < first:
            place = self._next(place)
            found = self._at(place)
        while found is not None and found.first <= last:
            yield found
            place = self._next(place)
            found = self._at(place)

    def gaps(self, first: int, last: int) -> Iterator[OffsetRange]:
        """What of these offsets is not in."""
        for each in self.within(first, last):
            if first < each.first:
                yield OffsetRange(first, each.first - 1)
            first = each.last + 1
        if first <= last:
            yield OffsetRange(first, last)

    # -- what changes ----------------------------------------------------------------------

    def add(self, first: int, last: int) -> None:
        """Put offsets in; ranges that then touch become one."""
        assert first <= last
        if self._is_behind_all(first - 1):
            self.insert(first, last)
            return
        touched = list(self.within(first - 1, last + 1))
        if len(touched) == 1 and touched[0].first <= first and last <= touched[0].last:
            return
        for each in touched:
            self.remove(*each)
        if touched:
            first, last = min(first, touched[0].first), max(last, touched[-1].last)
        self.insert(first, last)

    def discard(self, first: int, last: int) -> None:
        """Take offsets out, as far as they are in."""
        for each in list(self.within(first, last)):
            self.remove(*each)
            if each.first < first:
                self.insert(each.first, first - 1)
            if each.last > last:
                self.insert(last + 1, each.last)

    def insert(self, first: int, last: int) -> None:
        """Put a range in of which no offset is in yet; it is not joined to its neighbours."""
        if self._is_behind_all(first):
            self._append(first, last)
            return
        self._count += 1
        block, at = self._find(first)
        block = max(block, 0)
        firsts, lasts = self._firsts[block], self._lasts[block]
        firsts.insert(at + 1, first)
        lasts.insert(at + 1, last)
        self._starts[block] = firsts[0]
        if len(firsts) > 2 * _BLOCK:
            self._firsts.insert(block + 1, firsts[_BLOCK:])
            self._lasts.insert(block + 1, lasts[_BLOCK:])
            self._starts.insert(block + 1, firsts[_BLOCK])
            del firsts[_BLOCK:], lasts[_BLOCK:]

    def remove(self, first: int, last: int) -> bool:
        """Take out a range with just these ends; whether it was there."""
        place = self._find(first)
        if self._at(place) != (first, last):
            return False
        block, at = place
        firsts = self._firsts[block]
        del firsts[at], self._lasts[block][at]
        if firsts:
            self._starts[block] = firsts[0]
        else:
            del self._starts[block], self._firsts[block], self._lasts[block]
        self._count -= 1
        return True

    # Ranges come mostly in order, when a log is replayed and in a commit of many.

    def _is_behind_all(self, offset: int) -> bool:
        return not self._count or offset > self._lasts[-1][-1]

    def _append(self, first: int, last: int) -> None:
        self._count += 1
        if not self._starts or len(self._firsts[-1]) == 2 * _BLOCK:
            self._starts.append(first)
            self._firsts.append(array("q"))
            self._lasts.append(array("q"))
        self._firsts[-1].append(first)
        self._lasts[-1].append(last)

    # -- places ----------------------------------------------------------------------------

    def _find(self, offset: int) -> _Place:
        """Where the last range stands that begins at `offset` or before."""
        block = bisect_right(self._starts, offset) - 1
        if block < 0:
            return _Place(-1, -1)
        return _Place(block, bisect_right(self._firsts[block], offset) - 1)

    def _next(self, place: _Place) -> _Place:
        block, at = place
        if block >= 0 and at + 1 < len(self._firsts[block]):
            return _Place(block, at + 1)
        return _Place(block + 1, 0)

    def _at(self, place: _Place) -> OffsetRange | None:
        block, at = place
        if not 0 <= block < len(self._starts):
            return None
        return OffsetRange(self._firsts[block][at], self._lasts[block][at])
