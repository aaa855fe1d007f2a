"""One pass of a filter over a partition's batches, and the bytes that it gives.

A batch of which some records match goes out with those alone, at its own offsets. What matches
nothing is covered: the batch before is made to reach over it, or a batch without records is put in,
such as Kafka's log cleaner leaves. So the batches given lie end to end over all that was looked at,
and any client knows from them where to go on. Control batches pass as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from mockbroker.coop.batch_index import BatchIndex, pieces
from mockbroker.coop.remainders import Remainder, Remainders, Source
from mockbroker_protocol.records.batch import (
    RECORD_BATCH_OVERHEAD,
    cover_batch,
    records_data,
    thinned_batch,
)
from mockbroker_protocol.records.record_places import locate_records

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mockbroker.coop.key_filter import KeyFilter
    from mockbroker_protocol.primitives import Buffer
    from mockbroker_protocol.records.batch import BatchHeader

BUDGET, SIZE = "budget", "size"
"""Why a pass ended before the batches did: it has looked at enough, or given enough."""
_MOST_OFFSETS: Final = 1 << 31


class Limits(NamedTuple):
    """Of one pass: `max_bytes` given, unless `min_one` and nothing matched yet; `budget` bytes
    looked at, of which one batch is always allowed. `fold`: batches may reach over what follows.
    `remainders` keep what others will want of the partition `place`, within `cache_bytes`: of a
    record its bytes, or with `keeps_keys` where they are; and all of what is only looked at, which
    is so without `takes`.
    """

    max_bytes: int
    min_one: bool
    budget: int
    remainders: Remainders
    place: tuple[bytes, int] = (b"", 0)
    fold: bool = True
    null_keys: str = "spread"
    cache_bytes: int = 0
    keeps_keys: bool = False
    takes: bool = True


class _Kept(NamedTuple):
    """`records` of a batch's records, of `size_bytes`: pieces of one or several of them.

    `entry`: whence they and those before the offset come, `numbers` of it.
    """

    pieces: list[Buffer]
    records: int
    size_bytes: int
    entry: Remainder | None = None
    numbers: Sequence[int] = ()


class _Open:
    """The last batch given, while it may still reach further: `kept` None is a cover."""

    __slots__ = ("header", "kept", "last_offset")

    def __init__(self, header: BatchHeader, kept: _Kept | None) -> None:
        self.header = header
        self.kept = kept
        self.last_offset = header.last_offset

    def takes(self, header: BatchHeader, fold: bool) -> bool:
        """Whether it may reach over this batch, of which nothing is given."""
        mine = self.header
        return (
            mine.partition_leader_epoch == header.partition_leader_epoch
            and header.last_offset - mine.base_offset < _MOST_OFFSETS
            and (self.kept is None or (fold and not mine.is_transactional))
        )

    def packed(self) -> bytes:
        mine = self.header
        if self.kept is None:
            return cover_batch(mine.base_offset, self.last_offset, mine.partition_leader_epoch)
        return thinned_batch(mine, self.kept.pieces, self.kept.records, self.last_offset)


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
            size = RECORD_BATCH_OVERHEAD + kept.size_bytes
            is_too_much = (
                kept.records
                and self.size_bytes + size > limits.max_bytes
                and (self.matched_records or not limits.min_one)
            )
            if kept.entry is not None:
                if limits.takes and not is_too_much:
                    assert key_filter.reach is not None
                    kept.entry.take(key_filter.reach, kept.numbers)
                limits.remainders.keep(kept.entry, limits.cache_bytes)
            if is_too_much:
                self.stopped = SIZE
                break
            if not kept.records:
                self._cover(header, limits.fold)
                continue
            self._give(header, _Open(header, kept), size)
            self.matched_bytes += size
            self.matched_records += kept.records
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
    ) -> _Kept:
        """The bytes of the batch's records that match, from `offset` on."""
        reach = key_filter.reach
        if reach is None or not (
            key_filter.is_exact or (limits.cache_bytes and len(reach) <= header.record_count)
        ):
            return self._kept_one_by_one(header, data, offset, key_filter, limits)
        cache, base = limits.remainders, header.base_offset
        source = Source((*limits.place, base), header.crc, limits.null_keys)
        entry = cache.find(source, reach)
        if entry is None:
            entry = self._indexed(header, data, source, limits)
        else:
            self.cache_hits += 1
            self.scanned_bytes += RECORD_BATCH_OVERHEAD
        index = entry.index
        numbers = mine = index.matching(reach)
        if offset > base:
            mine = [number for number in numbers if base + index.deltas[number] >= offset]
        plain: Buffer | None = entry.plain
        if plain is None:
            plain = self._inflated(header, data)[0] if header.compression else data
        if not key_filter.is_exact and mine:
            plain = bytes(plain)
            edges, deltas, null_keys = index.edges, index.deltas, limits.null_keys
            mine = [
                number
                for number in mine
                if key_filter.confirms(
                    locate_records(plain, edges[number], edges[number + 1], 1)[2][0],
                    base + deltas[number],
                    null_keys,
                )
            ]
        kept = pieces(plain, index.edges, mine)
        size = sum(map(len, kept))
        return _Kept(kept, len(mine), size, entry, numbers)

    def _indexed(
        self, header: BatchHeader, data: Buffer, source: Source, limits: Limits
    ) -> Remainder:
        """What the log has of a batch."""
        records, located = self._located(header, data)
        edges, deltas, keys = located
        slots = limits.remainders.slots.of(keys, header.base_offset, deltas, limits.null_keys)
        return Remainder(
            source,
            BatchIndex(edges, deltas, slots),
            records if header.compression and not limits.keeps_keys else None,
            keys if limits.keeps_keys else None,
        )

    def _kept_one_by_one(
        self,
        header: BatchHeader,
        data: Buffer,
        offset: int,
        key_filter: KeyFilter,
        limits: Limits,
    ) -> _Kept:
        """The same for a filter of which the slots do not tell what passes."""
        records, (edges, deltas, keys) = self._located(header, data)
        base, null_keys = header.base_offset, limits.null_keys
        mine = [
            number
            for number, (key, delta) in enumerate(zip(keys, deltas, strict=True))
            if base + delta >= offset and key_filter.matches(key, base + delta, null_keys)
        ]
        kept = pieces(records, edges, mine)
        return _Kept(kept, len(mine), sum(map(len, kept)))

    def _located(
        self, header: BatchHeader, data: Buffer
    ) -> tuple[bytes, tuple[list[int], list[int], list[bytes | None]]]:
        """A batch's inflated records, and what `locate_records` says of them."""
        records, start, end = self._inflated(header, data)
        self.scanned_records += header.record_count
        plain = bytes(records)
        return plain, locate_records(plain, start, end, header.record_count)

    def _inflated(self, header: BatchHeader, data: Buffer) -> tuple[Buffer, int, int]:
        records = records_data(data, 0, header)
        self.scanned_bytes += max(header.size_in_bytes, records[2] - records[1])
        return records

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
            self.covers += self._open.kept is None
            self._open = None
