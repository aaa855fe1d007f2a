"""What filters of keys left over of a batch, kept for the filter that comes next.

Members that share a partition read the same batches one after the other; who comes second finds
here where the records of its keys lie, and the batch is not inflated and hashed again. What goes
out is forgotten. An entry knows for which slots it has all of its batch, and serves no others: a
fetch that is sent again reads the log.

Over its budget the oldest entries go. Of a batch of which no record is left, that much is known for
a while: members without any in a small batch come last as often as first. Nothing depends on what
is here, so it goes with the broker.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Final, NamedTuple

from mockbroker.coop.batch_index import BatchIndex, pieces
from mockbroker.coop.key_filter import SLOTS, KeyRange
from mockbroker.coop.slots import Slots

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


RECORD_OVERHEAD: Final = 24
"""What a record counts besides its bytes."""
_MOST_SPENT: Final = 4096
"""Batches of which no record is left, which count nothing."""
_ALL_SLOTS: Final = (KeyRange(0, SLOTS - 1),)


class Source(NamedTuple):
    """Of one batch at one place: topic id, partition, first offset; and what it is known by."""

    key: tuple[bytes, int, int]
    crc: int
    null_keys: str


class Remainder:
    """`slots`: for these, `index` has all records of the batch.

    `plain` is what the index tells of, if that is not the batch as it lies in the log: inflated
    records, of which those that went out are thrown away now and then. None: the batch, or what it
    inflates to. `key_sizes`: records count with their keys alone. `charge`: what they count.
    """

    __slots__ = ("charge", "index", "key_sizes", "plain", "slots", "source")

    def __init__(
        self,
        source: Source,
        index: BatchIndex,
        plain: bytes | None,
        keys: Sequence[bytes | None] | None,
    ) -> None:
        self.source = source
        self.slots: tuple[KeyRange, ...] = _ALL_SLOTS
        self.index = index
        self.plain = plain
        self.key_sizes = None if keys is None else array("I", [len(key or b"") for key in keys])
        slotted = index.slotted()
        if keys is None and len(slotted) == len(index.deltas):
            self.charge = index.edges[-1] - index.edges[0] + RECORD_OVERHEAD * len(slotted)
        else:
            self.charge = self._counted(slotted)

    def has(self, ranges: Iterable[KeyRange]) -> bool:
        """Whether all records in these ranges are here."""
        return all(any(lo <= one.lo and one.hi <= hi for lo, hi in self.slots) for one in ranges)

    def take(self, ranges: Sequence[KeyRange], numbers: Sequence[int]) -> None:
        """The records in these ranges, which have these numbers, went out."""
        self.slots = without(self.slots, ranges)
        self.charge -= self._counted(numbers)
        if not self.charge:
            self.index, self.plain, self.key_sizes = _NOTHING, b"", None
        elif self.plain is not None and 2 * self.charge < len(self.plain):
            left = self.index.matching(self.slots)
            self.plain = b"".join(pieces(self.plain, self.index.edges, left))
            self.index = self.index.thinned(left)

    def _counted(self, numbers: Sequence[int]) -> int:
        sizes, edges = self.key_sizes, self.index.edges
        if sizes is None:
            counted = sum([edges[number + 1] - edges[number] for number in numbers])
        else:
            counted = sum([sizes[number] for number in numbers])
        return counted + RECORD_OVERHEAD * len(numbers)


class Remainders:
    """Of one broker, oldest first; and the slots of the keys that came by."""

    __slots__ = ("_entries", "_spent", "evictions", "hits", "misses", "size_bytes", "slots")

    def __init__(self) -> None:
        self._entries: dict[tuple[bytes, int, int], Remainder] = {}
        self._spent: dict[tuple[bytes, int, int], Remainder] = {}
        self.slots = Slots()
        self.size_bytes = 0
        self.hits = self.misses = self.evictions = 0

    def __len__(self) -> int:
        return len(self._entries)

    def find(self, source: Source, reach: Sequence[KeyRange]) -> Remainder | None:
        """What has all records of the batch in these ranges; None: the log must be read.

        It is not kept here any more, until it is given to `keep` again.
        """
        entry = self._entries.get(source.key) or self._spent.get(source.key)
        if entry is None or entry.source != source or not entry.has(reach):
            self.misses += 1
            return None
        self.hits += 1
        self._drop(source.key)
        return entry

    def keep(self, entry: Remainder, budget: int) -> None:
        """Keep an entry, found or new; it is the newest then. All count `budget` at the most."""
        self._drop(entry.source.key)
        if not entry.charge and entry.slots and budget:
            self._spent[entry.source.key] = entry
            if len(self._spent) > _MOST_SPENT:
                del self._spent[next(iter(self._spent))]
        if not 0 < entry.charge <= budget:
            return
        self._entries[entry.source.key] = entry
        self.size_bytes += entry.charge
        while self.size_bytes > budget:
            self._drop(next(iter(self._entries)))
            self.evictions += 1

    def forget_topic(self, topic_id: bytes) -> None:
        """The topic is gone."""
        for key in [each for each in (*self._entries, *self._spent) if each[0] == topic_id]:
            self._drop(key)

    def clear(self) -> None:
        """Forget all, as a reset does; what was counted stays."""
        self._entries.clear()
        self._spent.clear()
        self.slots.clear()
        self.size_bytes = 0

    def _drop(self, key: tuple[bytes, int, int]) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self.size_bytes -= entry.charge
        else:
            self._spent.pop(key, None)


_NOTHING: Final = BatchIndex((0,), (), ())


def without(slots: Sequence[KeyRange], taken: Sequence[KeyRange]) -> tuple[KeyRange, ...]:
    """The slots of some ranges that are in none of the others; both are sorted and disjoint."""
    left: list[KeyRange] = []
    for lo, hi in slots:
        start = lo
        for away in taken:
            if away.hi < start or away.lo > hi:
                continue
            if start < away.lo:
                left.append(KeyRange(start, away.lo - 1))
            start = away.hi + 1
        if start <= hi:
            left.append(KeyRange(start, hi))
    return tuple(left)
