"""Where each record of a batch lies, and the slot of its key: found once, for each filter of it."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mockbroker.coop.key_filter import KeyRange
    from mockbroker_protocol.primitives import Buffer


class BatchIndex:
    """Of records that are numbered from 0: 16 bytes for each.

    `edges`: where each begins, and the last one ends; `deltas`: their offsets beyond the batch's.
    """

    __slots__ = ("_order", "_slots", "deltas", "edges")

    def __init__(self, edges: Iterable[int], deltas: Iterable[int], slots: Sequence[int]) -> None:
        order = sorted(range(len(slots)), key=slots.__getitem__)
        self._order = array("I", order)
        self._slots = array("i", map(slots.__getitem__, order))
        self.edges = array("I", edges)
        self.deltas = array("i", deltas)

    def matching(self, ranges: Iterable[KeyRange]) -> list[int]:
        """The numbers of the records in these ranges, which are disjoint; in the batch's order."""
        slots = self._slots
        found: list[int] = []
        for lo, hi in ranges:
            first = bisect_left(slots, lo)
            found += self._order[first : bisect_right(slots, hi, first)]
        found.sort()
        return found

    def thinned(self, numbers: Sequence[int]) -> BatchIndex:
        """The index of these records alone, as `pieces` puts them from position 0 on."""
        slots = dict(zip(self._order, self._slots, strict=True))
        edges, pos = [0], 0
        for number in numbers:
            pos += self.edges[number + 1] - self.edges[number]
            edges.append(pos)
        return BatchIndex(
            edges, [self.deltas[one] for one in numbers], [slots[one] for one in numbers]
        )


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
