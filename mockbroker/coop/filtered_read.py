"""One pass of a filter over a partition's batches, and the bytes that it gives.

A batch of which some records match goes out with those alone, at its own offsets. What matches
nothing is covered: the batch before is made to reach over it, or a batch without records is put in,
such as Kafka's log cleaner leaves. So the batches given lie end to end over all that was looked at,
and any client knows from them where to go on. Control batches pass as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from mockbroker.coop.key_filter import record_slot
from mockbroker.coop.remainders import LeftOver, Remainders
from mockbroker_protocol.records.batch import (
    RECORD_BATCH_OVERHEAD,
    cover_batch,
    records_data,
    thinned_batch,
)
from mockbroker_protocol.records.record_codec import record_slices

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mockbroker.coop.key_filter import KeyFilter
    from mockbroker_protocol.primitives import Buffer
    from mockbroker_protocol.records.batch import BatchHeader

BUDGET, SIZE = "budget", "size"
"""Why a pass ended before the batches did: it has looked at enough, or given enough."""
_MOST_OFFSETS: Final = 1 << 31


class Limits(NamedTuple):
    """Of one pass: `max_bytes` given, unless `min_one` and nothing matched yet; `budget` bytes
    looked at, of which one batch is always allowed. `fold`: batches may reach over what follows.
    `remainders` keep what others will want of this partition, within `cache_bytes`: of a record
    its bytes, or with `keeps_keys` where they are.
    """

    max_bytes: int
    min_one: bool
    budget: int
    fold: bool = True
    null_keys: str = "spread"
    remainders: Remainders | None = None
    place: tuple[bytes, int] = (b"", 0)
    cache_bytes: int = 0
    keeps_keys: bool = False


class _Open:
    """The last batch given, while it may still reach further: `records` None is a cover."""

    __slots__ = ("header", "last_offset", "records")

    def __init__(self, header: BatchHeader, records: list[Buffer] | None) -> None:
        self.header = header
        self.records = records
        self.last_offset = header.last_offset

    def takes(self, header: BatchHeader, fold: bool) -> bool:
        """Whether it may reach over this batch, of which nothing is given."""
        mine = self.header
        return (
            mine.partition_leader_epoch == header.partition_leader_epoch
            and header.last_offset - mine.base_offset < _MOST_OFFSETS
            and (self.records is None or (fold and not mine.is_transactional))
        )

    def packed(self) -> bytes:
        mine = self.header
        if self.records is None:
            return cover_batch(mine.base_offset, self.last_offset, mine.partition_leader_epoch)
        return thinned_batch(mine, self.records, self.last_offset)


class FilteredRead:
    """What a pass found: `chunks` of `size_bytes` together, up to `next_offset`.

    `matched_bytes` are those of batches with records that match; covers and control batches count
    in `size_bytes` alone. `stopped` is "", BUDGET or SIZE.
    """

    __slots__ = (
        "_open",
        "cache_hits",
        "chunks",
        "covers",
        "matched_bytes",
        "matched_records",
        "next_offset",
        "scanned_bytes",
        "scanned_records",
        "size_bytes",
        "stopped",
    )

    def __init__(self, offset: int) -> None:
        self.chunks: list[Buffer] = []
        self.size_bytes = 0
        self.next_offset = offset
        self.matched_bytes = self.matched_records = 0
        self.scanned_bytes = self.scanned_records = 0
        self.cache_hits = self.covers = 0
        self.stopped = ""
        self._open: _Open | None = None

    def scan(
        self,
        batches: Iterable[tuple[BatchHeader, Buffer]],
        key_filter: KeyFilter,
        limits: Limits,
    ) -> FilteredRead:
        """Look at these batches, the first of which holds `next_offset`; called once."""
        offset = self.next_offset
        for header, data in batches:
            if self.scanned_bytes and self.scanned_bytes + header.size_in_bytes > limits.budget:
                self.stopped = BUDGET
                break
            if header.is_control:
                self.scanned_bytes += header.size_in_bytes
                self._give(header, None, header.size_in_bytes)
                self.chunks.append(data)
                continue
            kept = self._kept(header, data, offset, key_filter, limits)
            if not kept:
                self._cover(header, limits.fold)
                continue
            size = RECORD_BATCH_OVERHEAD + sum(map(len, kept))
            if self.size_bytes + size > limits.max_bytes and (
                self.matched_records or not limits.min_one
            ):
                self.stopped = SIZE
                break
            self._give(header, _Open(header, kept), size)
            self.matched_bytes += size
            self.matched_records += len(kept)
        self._close()
        return self

    def add(self, before: FilteredRead) -> None:
        """Count what a pass before this one found too; its chunks are not taken."""
        self.matched_bytes += before.matched_bytes
        self.matched_records += before.matched_records
        self.scanned_bytes += before.scanned_bytes
        self.scanned_records += before.scanned_records

    def _kept(
        self,
        header: BatchHeader,
        data: Buffer,
        offset: int,
        key_filter: KeyFilter,
        limits: Limits,
    ) -> list[Buffer]:
        """The bytes of the batch's records that match, from `offset` on."""
        cache, null_keys = limits.remainders, limits.null_keys
        if cache is not None and not key_filter.has_keys:
            return self._kept_with(cache, header, data, offset, key_filter, limits)
        records, start, end = records_data(data, 0, header)
        self.scanned_bytes += max(header.size_in_bytes, end - start)
        self.scanned_records += header.record_count
        plain, base = bytes(records), header.base_offset
        matches = key_filter.matches
        return [
            plain[at:stop]
            for delta, key, at, stop in record_slices(plain, start, end, header.record_count)
            if base + delta >= offset and matches(key, base + delta, null_keys)
        ]

    def _kept_with(
        self,
        cache: Remainders,
        header: BatchHeader,
        data: Buffer,
        offset: int,
        key_filter: KeyFilter,
        limits: Limits,
    ) -> list[Buffer]:
        """The same, from what an earlier filter left; what this one leaves is kept."""
        null_keys = limits.null_keys
        found = cache.take(limits.place, header, key_filter, null_keys)
        if found is not None:
            self.cache_hits += 1
            return self._left_over(found, header, data, offset)
        records, start, end = records_data(data, 0, header)
        self.scanned_bytes += max(header.size_in_bytes, end - start)
        self.scanned_records += header.record_count
        plain, base = bytes(records), header.base_offset
        kept: list[Buffer] = []
        rest: list[LeftOver] = []
        for delta, key, at, stop in record_slices(plain, start, end, header.record_count):
            slot = record_slot(key, base + delta, null_keys)
            if slot is None:
                continue
            if not key_filter.has(slot, slot):
                left = (at, stop) if limits.keeps_keys else plain[at:stop]
                size = len(key or b"") if limits.keeps_keys else stop - at
                rest.append(LeftOver(slot, base + delta, left, size))
            elif base + delta >= offset:
                kept.append(plain[at:stop])
        cache.put(limits.place, header, key_filter, null_keys, rest, limits.cache_bytes)
        return kept

    def _left_over(
        self, found: list[LeftOver], header: BatchHeader, data: Buffer, offset: int
    ) -> list[Buffer]:
        """The bytes of these records, for which the batch is inflated if it must be."""
        kept: list[Buffer] = []
        plain: bytes | None = None
        for each in found:
            if not isinstance(each.data, bytes):
                if plain is None:
                    records, start, end = records_data(data, 0, header)
                    self.scanned_bytes += max(header.size_in_bytes, end - start)
                    plain = bytes(records)
                first, stop = each.data
                kept.append(plain[first:stop])
            else:
                self.scanned_bytes += len(each.data)
                kept.append(each.data)
        return [one for one, each in zip(kept, found, strict=True) if each.offset >= offset]

    def _give(self, header: BatchHeader, batch: _Open | None, size: int) -> None:
        self._close()
        self._open = batch
        self.size_bytes += size
        self.next_offset = header.next_offset

    def _cover(self, header: BatchHeader, fold: bool) -> None:
        last = self._open
        if last is not None and last.takes(header, fold):
            last.last_offset = header.last_offset
            self.next_offset = header.next_offset
        else:
            self._give(header, _Open(header, None), RECORD_BATCH_OVERHEAD)

    def _close(self) -> None:
        if self._open is not None:
            self.chunks.append(self._open.packed())
            self.covers += self._open.records is None
            self._open = None
