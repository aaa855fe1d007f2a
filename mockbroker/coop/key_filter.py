"""Which records a fetch wants: by ranges of the slots that their keys hash to, or by keys.

A slot is Kafka's murmur2 of the key without its sign, one of 2^31. Ranges of slots divide any
partition evenly; a slot modulo a number would not, since the producer's partitioner took the
modulo already.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Final, NamedTuple

from mockbroker_protocol.murmur2 import murmur2, murmur2_each

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

SLOTS: Final = 1 << 31
_SLOT_MASK: Final = SLOTS - 1

SPREAD, FIRST, EXCLUDE = "spread", "first", "exclude"
"""range.fetch.null.key.policy: the slot of a record without a key is that of its offset's eight
bytes; is 0; is in no range."""


class KeyRange(NamedTuple):
    """Slots from `lo` to `hi`, ends included."""

    lo: int
    hi: int


class BadRangeError(ValueError):
    """A range that begins below 0, behind its end or behind the last slot."""


def slot_of(key: bytes) -> int:
    """The slot of a key; the empty key is one."""
    return murmur2(key) & _SLOT_MASK


def slots_of(keys: Sequence[bytes]) -> list[int]:
    """The slots of many keys."""
    return [value & _SLOT_MASK for value in murmur2_each(keys)]


def record_slot(key: bytes | None, offset: int, null_keys: str) -> int | None:
    """The slot of a record; None: it is in no range."""
    if key is not None:
        return murmur2(key) & _SLOT_MASK
    if null_keys == SPREAD:
        return slot_of(offset.to_bytes(8, "big"))
    return 0 if null_keys == FIRST else None


class KeyFilter:
    """Ranges of slots, any of which may hold a record's; and keys that pass whatever their slot."""

    __slots__ = ("_highs", "_keys", "_lows", "is_exact", "ranges", "reach")

    def __init__(self, ranges: Iterable[KeyRange], keys: Iterable[bytes | None] = ()) -> None:
        """Raises BadRangeError. An end behind the last slot is the last slot."""
        self.ranges = merged = _merged(ranges)
        """In order, those that touch as one."""
        self._lows = [each.lo for each in merged]
        self._highs = [each.hi for each in merged]
        self._keys = frozenset(keys)
        self.reach: list[KeyRange] | None = merged
        """Ranges beyond which nothing passes; None: slots do not tell what passes."""
        self.is_exact = not self._keys
        """Whether all that is within them does."""
        if None in self._keys:
            self.reach = None  # a record without a key has a slot by its topic's policy, or none
        elif self._keys:
            slots = slots_of([key for key in self._keys if key is not None])
            self.reach = _merged([*merged, *(KeyRange(slot, slot) for slot in slots)])

    def matches(self, key: bytes | None, offset: int, null_keys: str = SPREAD) -> bool:
        """Whether a record with this key at this offset passes."""
        if key in self._keys:
            return True
        if not self._lows:
            return False
        slot = record_slot(key, offset, null_keys)
        if slot is None:
            return False
        at = bisect_right(self._lows, slot) - 1
        return at >= 0 and slot <= self._highs[at]

    def confirms(self, _key: bytes | None, offset: int, _null_keys: str = SPREAD) -> bool:
        """Whether a record whose slot is within reach passes."""
        return self.matches(_key, offset, _null_keys)

    def is_within(self, ranges: Iterable[KeyRange]) -> bool:
        """Whether all that passes has a slot in these ranges; the null key's is not known."""
        wide = KeyFilter(ranges)
        return (
            None not in self._keys
            and all(wide.matches(key, 0) for key in self._keys if key is not None)
            and all(wide.has(lo, hi) for lo, hi in zip(self._lows, self._highs, strict=True))
        )

    def has(self, lo: int, hi: int) -> bool:
        """Whether every slot of a range passes."""
        at = bisect_right(self._lows, lo) - 1
        return at >= 0 and hi <= self._highs[at]


def _merged(ranges: Iterable[KeyRange]) -> list[KeyRange]:
    """In order, those that touch as one. Raises BadRangeError."""
    merged: list[KeyRange] = []
    for lo, hi in sorted(ranges):
        if not 0 <= lo <= hi or lo >= SLOTS:
            raise BadRangeError(f"[{lo}, {hi}] is no range of slots")
        wanted = KeyRange(lo, min(hi, _SLOT_MASK))
        if merged and lo <= merged[-1].hi + 1:
            before = merged.pop()
            wanted = KeyRange(before.lo, max(before.hi, wanted.hi))
        merged.append(wanted)
    return merged
