"""Where each record of a batch lies, and the slot of its key: found once, for each filter of it."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mockbroker.coop.key_filter import KeyRange
    from mockbroker_protocol.primitives import Buffer

NO_SLOT: Final = -1
"""Of a record that is in no range."""


class BatchIndex:
    """Of records that are numbered from 0: 12 bytes for each, and 16 once it is asked again.

    `edges`: where each begins, and the last one ends; `deltas`: their offsets beyond the batch's.
    The first filter is held against each slot; they are sorted for the second.
    """

    __slots__ = ("_asked", "_order", "_slots", "deltas", "edges")

    def __init__(self, edges: Iterable[int], deltas: Iterable[int], slots: Iterable[int]) -> None:
        self._slots = array("i", slots)
        self._order: array[int] | None = None
        self._asked = False
        self.edges = array("I", edges)
        self.deltas = array("i", deltas)

    def matching(self, ranges: Sequence[KeyRange]) -> list[int]:
        """The numbers of the records in these ranges, which are disjoint; in the batch's order."""
        if self._order is None and len(ranges) == 1 and not self._asked:
            self._asked = True
            ((lo, hi),) = ranges
            return [number for number, slot in enumerate(self._slots) if lo <= slot <= hi]
        if self._order is None:
            self._sort()
        slots, order = self._slots, self._order
        assert order is not None
        found: list[int] = []
        for lo, hi in ranges:
            first = bisect_left(slots, lo)
            found += order[first : bisect_right(slots, hi, first)]
        found.sort()
        return found

    def slotted(self) -> Sequence[int]:
        """The numbers of the records that have a slot."""
        slots = self._slots
        if NO_SLOT not in slots:
            return range(len(slots))
        numbers: Iterable[int] = range(len(slots)) if self._order is None else self._order
        return [number for number, slot in zip(numbers, slots, strict=True) if slot != NO_SLOT]

    def thinned(self, numbers: Sequence[int]) -> BatchIndex:
        """The index of these records alone, as `pieces` puts them from position 0 on."""
        slots: Sequence[int] | dict[int, int] = self._slots
        if self._order is not None:
            slots = dict(zip(self._order, self._slots, strict=True))
        edges, pos = [0], 0
        for number in numbers:
            pos += self.edges[number + 1] - self.edges[number]
            edges.append(pos)
        return BatchIndex(
            edges, [self.deltas[one] for one in numbers], [slots[one] for one in numbers]
        )

    def _sort(self) -> None:
        slots = self._slots
        order = sorted(range(len(slots)), key=slots.__getitem__)
        self._order = array("I", order)
        self._slots = array("i", map(slots.__getitem__, order))


def pieces(data: Buffer, edges: Sequence[int], numbers: Iterable[int]) -> list[Buffer]:
    """The bytes of these records, those that lie one behind the other as one piece."""
    found: list[Buffer] = []
    first = end = -1
    for number in numbers:
        if number != end:
            if first >= 0:
                found.append(data[edges[first] : edges[end]])
            first = number
        end = number + 1
    if first >= 0:
        found.append(data[edges[first] : edges[end]])
    return found
