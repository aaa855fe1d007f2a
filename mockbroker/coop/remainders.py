"""Records that a filter of keys left over of a batch, kept for the filter that comes next.

Members that share a partition read the same batches one after the other; who comes second finds
here what the first one did not want, and the batch is not inflated again. What is found goes out
and is forgotten. An entry knows for which slots it has all of its batch, and serves no others: a
fetch that is sent again reads the log.

Over its budget the oldest entries go. Nothing depends on what is here, so it goes with the broker.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from mockbroker.coop.key_filter import SLOTS, KeyFilter, KeyRange

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mockbroker_protocol.records.batch import BatchHeader

RECORD_OVERHEAD: Final = 24
"""What a record counts besides its bytes."""


class LeftOver(NamedTuple):
    """A record that did not match: its slot and its offset.

    `data` is its bytes in the batch, or where they begin and end there; `size_bytes` is what it
    counts.
    """

    slot: int
    offset: int
    data: bytes | tuple[int, int]
    size_bytes: int


class _Entry(NamedTuple):
    """`slots`: for these, all records of the batch with this checksum are in `records`."""

    crc: int
    null_keys: str
    slots: tuple[KeyRange, ...]
    records: list[LeftOver]
    charge: int


_Key = tuple[bytes, int, int]


class Remainders:
    """Of one broker, by topic id, partition and first offset of the batch; oldest first."""

    __slots__ = ("_entries", "evictions", "hits", "misses", "size_bytes")

    def __init__(self) -> None:
        self._entries: dict[_Key, _Entry] = {}
        self.size_bytes = 0
        self.hits = self.misses = self.evictions = 0

    def __len__(self) -> int:
        return len(self._entries)

    def take(
        self, place: tuple[bytes, int], header: BatchHeader, wanted: KeyFilter, null_keys: str
    ) -> list[LeftOver] | None:
        """The batch's records with these slots, in order; None: the log must be read."""
        key = (*place, header.base_offset)
        entry = self._entries.get(key)
        if (
            entry is None
            or (entry.crc, entry.null_keys) != (header.crc, null_keys)
            or not wanted.is_within(entry.slots)
        ):
            self.misses += 1
            return None
        self.hits += 1
        found = [each for each in entry.records if wanted.has(each.slot, each.slot)]
        rest = [each for each in entry.records if not wanted.has(each.slot, each.slot)]
        self._drop(key)
        if rest:
            slots = without(entry.slots, wanted.ranges)
            self._keep(key, entry._replace(slots=slots, records=rest, charge=_charge(rest)))
        return found

    def put(
        self,
        place: tuple[bytes, int],
        header: BatchHeader,
        wanted: KeyFilter,
        null_keys: str,
        rest: list[LeftOver],
        budget: int,
    ) -> None:
        """Keep what a filter left of a batch that was read from the log."""
        key = (*place, header.base_offset)
        self._drop(key)
        charge = _charge(rest)
        if not rest or charge > budget:
            return
        slots = without((KeyRange(0, SLOTS - 1),), wanted.ranges)
        self._keep(key, _Entry(header.crc, null_keys, slots, rest, charge))
        while self.size_bytes > budget:
            self._drop(next(iter(self._entries)))
            self.evictions += 1

    def forget_topic(self, topic_id: bytes) -> None:
        """The topic is gone."""
        for key in [each for each in self._entries if each[0] == topic_id]:
            self._drop(key)

    def clear(self) -> None:
        """Forget all, as a reset does; what was counted stays."""
        self._entries.clear()
        self.size_bytes = 0

    def _keep(self, key: _Key, entry: _Entry) -> None:
        self._entries[key] = entry
        self.size_bytes += entry.charge

    def _drop(self, key: _Key) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self.size_bytes -= entry.charge


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


def _charge(records: list[LeftOver]) -> int:
    return sum(RECORD_OVERHEAD + each.size_bytes for each in records)
