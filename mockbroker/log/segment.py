"""The bytes of a stretch of a partition's log, and how to find a batch among them.

`UnifiedLog` owns the segments; nobody else sees one. This is the port behind which the bytes lie:
here they are in memory, in blocks. Small batches are copied together into blocks that double in
size, so that a read over a thousand of them is one slice and a partition with one record costs
half a KiB. A batch may lie in two of them, its header in one. A large batch is a block of its own,
in the buffer that it arrived in.

Bytes once written never change and a block never moves: views of them may be handed out and kept.

Of each batch there is one number of 64 bits, as an entry of Kafka's OffsetIndex: how far behind the
segment's first its last offset is, and where it begins. One of them finds a batch by its offset.

Invariants: batch i lies at position(i) up to position(i + 1) (or `size_bytes`); both halves of the
entries grow; `block_starts` begins with 0 and each block ends where the next begins.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from struct import Struct
from typing import TYPE_CHECKING, Final

from mockbroker_protocol.named_tuple import NamedTuple
from mockbroker_protocol.records.batch import RECORD_BATCH_OVERHEAD, BatchHeader, unpack_header

if TYPE_CHECKING:
    from mockbroker.log.results import Buffer, Stored

_FIRST_BLOCK_BYTES: Final = 512
_BLOCK_BYTES: Final = 128 * 1024
_COPIED_BATCH_BYTES: Final = 16 * 1024
"""A larger batch stays in its buffer, if that can be written to."""
_COPIED_READ_ONLY_BYTES: Final = 64 * 1024
"""A larger one stays even in a buffer that cannot, and then its header is a block of its own."""
MAX_RELATIVE_OFFSET: Final = 0x7FFFFFFF
"""How far behind the first offset of a segment its last may be (OffsetIndex.canAppendOffset)."""
POSITION_BITS: Final = 32
POSITION: Final = 0xFFFFFFFF
"""The half of an entry that is a position."""
_TIMED_BATCHES: Final = 32
"""After so many the highest timestamp is noted."""

_stamp: Final = Struct(">qii").pack_into
"""What lies before the magic: offset, length, epoch."""


def _position_of(entry: int) -> int:
    return entry & POSITION


class SegmentMark(NamedTuple):
    """How far a segment had grown at one moment, for `Segment.back_to`."""

    batches: int
    modified_wall_ms: int
    bytes_since_index_entry: int


class Segment:
    """One segment; `base_offset` names it, positions count from its first byte."""

    __slots__ = (
        "_bytes_since_index_entry",
        "_index_interval_bytes",
        "_index_offsets",
        "_index_positions",
        "_tail",
        "_tail_start",
        "_timestamps",
        "base_offset",
        "block_starts",
        "blocks",
        "created_wall_ms",
        "entries",
        "first_timestamp",
        "max_timestamp",
        "modified_wall_ms",
        "size_bytes",
    )

    def __init__(
        self, base_offset: int, created_wall_ms: int, index_interval_bytes: int = 4096
    ) -> None:
        self.base_offset = base_offset
        self.created_wall_ms = self.modified_wall_ms = created_wall_ms
        self.size_bytes = 0
        self.first_timestamp = -1
        self.max_timestamp = -1
        self.entries = array("Q")
        """Of each batch its last offset behind `base_offset`, times 2**32, and its position."""
        self._timestamps: list[int] = []
        """The highest of all before batches 32, 64, …: sorted, so that bisect finds one."""
        self.block_starts: list[int] = []
        self.blocks: list[memoryview] = []
        self._tail: memoryview | None = None
        self._tail_start = 0
        self._index_interval_bytes = index_interval_bytes
        self._bytes_since_index_entry = 0
        self._index_offsets: list[int] = []
        self._index_positions: list[int] = []

    def __len__(self) -> int:
        """Number of batches."""
        return len(self.entries)

    @property
    def largest_timestamp(self) -> int:
        """The newest record's time; of a segment that knows none, when it was last written to."""
        return self.max_timestamp if self.max_timestamp >= 0 else self.modified_wall_ms

    # --- writing -------------------------------------------------------------------------------

    def append(
        self,
        batch: Stored,
        base_offset: int,
        last_offset: int,
        leader_epoch: int,
        max_timestamp: int,
        header: bytes | None = None,
    ) -> None:
        """Store `batch` under its offset and epoch; `header`, if given, replaces its 61 bytes.

        The offset is at most MAX_RELATIVE_OFFSET behind the segment's, the timestamp is what the
        stored header tells. A large buffer that can be written to is taken over, and its first
        bytes are changed.
        """
        position = self.size_bytes
        size = len(batch)
        if (
            size > _COPIED_BATCH_BYTES
            and isinstance(batch, memoryview)
            and (size > _COPIED_READ_ONLY_BYTES or not batch.readonly)
        ):
            self._keep(batch, position, base_offset, leader_epoch, header)
        else:
            self._copy(batch, position, base_offset, leader_epoch, header)
        if not position:
            self.first_timestamp = max_timestamp
        self.max_timestamp = max(self.max_timestamp, max_timestamp)
        if self._bytes_since_index_entry > self._index_interval_bytes:
            self._index_offsets.append(last_offset)
            self._index_positions.append(position)
            self._bytes_since_index_entry = 0
        self._bytes_since_index_entry += size
        entries = self.entries
        entries.append((last_offset - self.base_offset) << POSITION_BITS | position)
        if not len(entries) % _TIMED_BATCHES:
            self._timestamps.append(self.max_timestamp)
        self.size_bytes = position + size

    def _copy(
        self,
        batch: Stored,
        position: int,
        base_offset: int,
        leader_epoch: int,
        header: bytes | None,
    ) -> None:
        size = len(batch)
        tail = self._tail
        at = position - self._tail_start
        if tail is None or at + size > len(tail):
            room = 0 if tail is None else len(tail) - at
            if tail is not None and room >= RECORD_BATCH_OVERHEAD:  # a header is in one block
                tail[at:] = batch[:room]
                rest = self._new_tail(size - room, position + room)
                rest[: size - room] = batch[room:]
            else:
                tail = self._new_tail(size, position)
                at = 0
                tail[:size] = batch
        else:
            tail[at : at + size] = batch
        if header is not None:
            tail[at : at + RECORD_BATCH_OVERHEAD] = header
        _stamp(tail, at, base_offset, size - 12, leader_epoch)

    def _new_tail(self, size: int, position: int) -> memoryview:
        previous = 0 if self._tail is None else len(self._tail)
        block = bytearray(
            max(size, min(_BLOCK_BYTES, max(2 * previous, 2 * size, _FIRST_BLOCK_BYTES)))
        )
        self._tail = tail = memoryview(block)
        self._tail_start = position
        self.block_starts.append(position)
        self.blocks.append(tail)
        return tail

    def _keep(
        self,
        batch: memoryview,
        position: int,
        base_offset: int,
        leader_epoch: int,
        header: bytes | None,
    ) -> None:
        starts, blocks = self.block_starts, self.blocks
        starts.append(position)
        if batch.readonly:
            own = bytearray(batch[:RECORD_BATCH_OVERHEAD] if header is None else header)
            _stamp(own, 0, base_offset, len(batch) - 12, leader_epoch)
            blocks.append(memoryview(own))
            starts.append(position + RECORD_BATCH_OVERHEAD)
            blocks.append(batch[RECORD_BATCH_OVERHEAD:])
        else:
            if header is not None:
                batch[:RECORD_BATCH_OVERHEAD] = header
            _stamp(batch, 0, base_offset, len(batch) - 12, leader_epoch)
            blocks.append(batch)
        self._tail = None

    def mark(self) -> SegmentMark:
        """What `back_to` needs to take back what is appended from now on."""
        return SegmentMark(len(self.entries), self.modified_wall_ms, self._bytes_since_index_entry)

    def back_to(self, mark: SegmentMark) -> None:
        """Take back what was appended since the mark. What readers hold stays as it is."""
        self.modified_wall_ms = mark.modified_wall_ms
        if mark.batches < len(self.entries):
            self._truncate(mark.batches)
            self._bytes_since_index_entry = mark.bytes_since_index_entry

    def beginning(self, keep: int) -> Segment:
        """The first `keep` batches, as a segment of its own; this one stays as it is."""
        made = Segment(self.base_offset, self.created_wall_ms, self._index_interval_bytes)
        made.modified_wall_ms = self.modified_wall_ms
        made.first_timestamp = self.first_timestamp
        made.max_timestamp = self.max_timestamp
        made.size_bytes = self.size_bytes
        made.entries = self.entries[:]
        made._timestamps = self._timestamps[:]
        made.block_starts = self.block_starts[:]
        made.blocks = self.blocks[:]
        made._index_offsets = self._index_offsets[:]
        made._index_positions = self._index_positions[:]
        made._truncate(keep)
        return made

    def _truncate(self, keep: int) -> None:
        """Drop all but the first `keep` batches, which are fewer than there are."""
        size = self.position(keep)
        del self.entries[keep:]
        timed = keep // _TIMED_BATCHES
        del self._timestamps[timed:]
        newest = self._timestamps[-1] if timed else -1
        for index in range(timed * _TIMED_BATCHES, keep):
            newest = max(newest, self.header(index).max_timestamp)
        self.max_timestamp = newest
        self.first_timestamp = self.first_timestamp if keep else -1
        blocks = bisect_left(self.block_starts, size)
        del self.block_starts[blocks:]
        del self.blocks[blocks:]
        entries = bisect_left(self._index_positions, size)
        del self._index_offsets[entries:]
        del self._index_positions[entries:]
        self._bytes_since_index_entry = 0
        self._tail = None  # its free end may be in readers' hands
        self.size_bytes = size

    # --- finding -------------------------------------------------------------------------------

    def last_offset(self, index: int) -> int:
        """The last offset of batch `index`; -1 is the last batch."""
        return self.base_offset + (self.entries[index] >> POSITION_BITS)

    def position(self, index: int) -> int:
        """Where batch `index` begins."""
        return self.entries[index] & POSITION

    def find(self, offset: int) -> int:
        """Index of the first batch whose last offset is not below `offset`; len() without one."""
        entries = self.entries
        count = len(entries)
        wanted = (offset - self.base_offset) << POSITION_BITS
        if count < 2 or entries[-2] < wanted:
            return count - 1 if count and entries[-1] >= wanted else count
        return bisect_left(entries, wanted)

    def find_position(self, position: int, start: int) -> int:
        """Index of the last batch, of those from `start` on, that begins there or before."""
        return bisect_right(self.entries, position, start, key=_position_of) - 1

    def size_of(self, index: int) -> int:
        """Bytes of batch `index`."""
        entries = self.entries
        end = entries[index + 1] & POSITION if index + 1 < len(entries) else self.size_bytes
        return end - (entries[index] & POSITION)

    def header(self, index: int) -> BatchHeader:
        """The header of batch `index`, as stored."""
        position = self.position(index)
        block = bisect_right(self.block_starts, position) - 1
        return unpack_header(self.blocks[block], position - self.block_starts[block])

    def batch(self, index: int) -> Buffer:
        """The bytes of batch `index` in one piece; copied only if they lie in two."""
        chunks = self.chunks(self.position(index), self.size_of(index))
        return chunks[0] if len(chunks) == 1 else b"".join(chunks)

    def chunks(self, position: int, size: int) -> list[Buffer]:
        """The bytes from `position`, in place."""
        starts, blocks = self.block_starts, self.blocks
        end = position + size
        at = len(starts) - 1
        if starts[at] > position:
            at = bisect_right(starts, position) - 1
        start = starts[at]
        chunks: list[Buffer] = []
        while at + 1 < len(starts) and starts[at + 1] < end:
            chunks.append(blocks[at][position - start : starts[at + 1] - start])
            at += 1
            position = start = starts[at]
        chunks.append(blocks[at][position - start : end - start])
        return chunks

    def upper_bound_offset(self, position: int) -> int | None:
        """The offset in the first index entry not before `position` (OffsetIndex).

        The index is sparse: one entry per `index_interval_bytes`, so often there is none. As in
        AbstractIndex.binarySearch, which never looks at where it begins, the first entry is passed
        over when it is exactly there.
        """
        entry = bisect_left(self._index_positions, position)
        if entry == 0 and self._index_positions and self._index_positions[0] == position:
            entry = 1
        return self._index_offsets[entry] if entry < len(self._index_offsets) else None

    def find_timestamp(self, timestamp: int, start: int) -> int:
        """Index of the first batch from `start` on that may hold a record not older."""
        count = len(self.entries)
        start = max(start, bisect_left(self._timestamps, timestamp) * _TIMED_BATCHES)
        while start < count and self.header(start).max_timestamp < timestamp:
            start += 1
        return start

    def should_roll(
        self, size: int, max_timestamp: int, now_wall_ms: int, segment_bytes: int, segment_ms: int
    ) -> bool:
        """Whether a batch of that size and time belongs into a new one (LogSegment.shouldRoll)."""
        if not self.size_bytes:
            return False
        if self.size_bytes > segment_bytes - size:
            return True
        if self.first_timestamp >= 0:
            return max_timestamp - self.first_timestamp > segment_ms
        return now_wall_ms - self.created_wall_ms > segment_ms
