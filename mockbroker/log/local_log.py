"""The stored part of a partition's log: segments in order, and what is read from them.

`UnifiedLog` extends it by what a replica knows beyond its bytes: high watermark, producers,
epochs. Follows Kafka's LocalLog. No segment exists before the first batch.

Invariants: segments are in the order of their base offsets, and only the last is written to;
offsets grow along them and stay below `log_end_offset`.
"""

from __future__ import annotations

from bisect import bisect_right
from operator import attrgetter
from typing import TYPE_CHECKING, Final
from zlib import crc32

from mockbroker.log.offsets import UNKNOWN_OFFSET_METADATA, LogOffsetMetadata
from mockbroker.log.results import ReadResult
from mockbroker.log.segment import MAX_RELATIVE_OFFSET, POSITION, POSITION_BITS, Segment
from mockbroker_protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mockbroker.config.log_config import LogConfig
    from mockbroker.log.results import Buffer, Stored
    from mockbroker_protocol.records.batch import BatchHeader

_NEGATIVE_LIMIT: Final = ReadResult(
    UNKNOWN_OFFSET_METADATA, [], 0, None, error=ErrorCode.UNKNOWN_SERVER_ERROR
)
_segment_base_offset: Final = attrgetter("base_offset")


class LocalLog:
    """The segments of one partition."""

    __slots__ = (
        "_end_metadata",
        "_segments",
        "config",
        "log_end_offset",
        "must_roll",
        "partition",
        "topic",
        "wants_upkeep",
    )

    def __init__(self, topic: str, partition: int, config: LogConfig) -> None:
        self.topic = topic
        self.partition = partition
        self.config = config
        self.log_end_offset = 0
        self._segments: Sequence[Segment] = ()
        self.must_roll = False
        """Whether the next batch begins another segment, whatever its size."""
        self.wants_upkeep = False
        """Whether something began since it was last looked at that grows old: see `LogUpkeep`."""
        # Made when it is asked for, dropped when the log moves.
        self._end_metadata: LogOffsetMetadata | None = None

    @property
    def size_bytes(self) -> int:
        """Bytes of all segments."""
        return sum(segment.size_bytes for segment in self._segments)

    def segments(self) -> Sequence[Segment]:
        """The segments as they are now, oldest first; for the duties on whole segments only."""
        return self._segments

    @property
    def segment_count(self) -> int:
        """Number of segments; 0 as long as nothing was stored."""
        return len(self._segments)

    # --- where things lie ----------------------------------------------------------------------

    def log_end_offset_metadata(self) -> LogOffsetMetadata:
        """The log end offset with its segment and position."""
        metadata = self._end_metadata
        if metadata is None:
            offset = self.log_end_offset
            if self._segments:
                active = self._segments[-1]
                metadata = LogOffsetMetadata(offset, active.base_offset, active.size_bytes)
            else:
                metadata = LogOffsetMetadata(offset, offset, 0)
            self._end_metadata = metadata
        return metadata

    def offset_metadata(self, offset: int) -> LogOffsetMetadata:
        """Where `offset`, from the log start to the log end, lies."""
        if offset != self.log_end_offset:
            found = self._locate(offset)
            if found is not None:
                segment, index = found
                return LogOffsetMetadata(offset, segment.base_offset, segment.position(index))
        return self.log_end_offset_metadata()

    def _locate(self, offset: int) -> tuple[Segment, int] | None:
        """The batch with `offset`, or the first one behind it; None when there is none."""
        segments = self._segments
        at = len(segments) - 1
        if at > 0 and segments[at].base_offset > offset:
            at = max(0, bisect_right(segments, offset, key=_segment_base_offset) - 1)
        while 0 <= at < len(segments):
            segment = segments[at]
            index = segment.find(offset)
            if index < len(segment.entries):
                return segment, index
            at += 1
        return None

    # --- reading -------------------------------------------------------------------------------

    def _read_segment(self, offset: int, max_bytes: int, bound: int, min_one: bool) -> ReadResult:
        """Raw bytes of one segment, for an offset below `bound` (LocalLog.read)."""
        if max_bytes < 0:
            return _NEGATIVE_LIMIT
        found = self._locate(offset)
        if found is None:  # nothing but a gap is left before the log end
            return ReadResult(self.log_end_offset_metadata(), [], 0, None)
        segment, index = found
        entries = segment.entries
        position = entries[index] & POSITION
        metadata = LogOffsetMetadata(offset, segment.base_offset, position)
        size = self._bound_position(segment, bound) - position
        whole = -1
        if size > max_bytes or size <= 0:
            readable, size = size, max_bytes
            first_batch_bytes = segment.size_of(index)
            if size < first_batch_bytes:
                if min_one:
                    size = first_batch_bytes
                elif size:
                    return ReadResult(metadata, [], 0, None, first_entry_incomplete=True)
            if readable <= size:
                size = readable
            else:  # the batch in which they end is cut
                whole = segment.find_position(position + size, index) - 1
            if size <= 0:
                return ReadResult(metadata, [], 0, None)
        # As `last_offset` does; this is read per partition, and a call costs more.
        next_offset = segment.base_offset + (entries[whole] >> POSITION_BITS) + 1
        if next_offset > bound:  # noqa: PLR1730 - likewise
            next_offset = bound
        return ReadResult(metadata, segment.chunks(position, size), size, None, next_offset)

    def _bound_position(self, segment: Segment, bound: int) -> int:
        """Up to where `segment` may be read by one who may read up to offset `bound`."""
        if bound == self.log_end_offset:
            return segment.size_bytes
        metadata = self.offset_metadata(bound)
        if metadata.segment_base_offset == segment.base_offset:
            return metadata.relative_position
        return segment.size_bytes if metadata.segment_base_offset > segment.base_offset else 0

    def _upper_bound_offset(self, end: LogOffsetMetadata) -> int:
        """An offset behind all bytes before `end`'s position in its segment, as Kafka finds it.

        The next entry of the sparse offset index, else the next segment, else the log end.
        """
        later = bisect_right(self._segments, end.segment_base_offset, key=_segment_base_offset)
        indexed = self._segments[later - 1].upper_bound_offset(end.relative_position)
        if indexed is not None:
            return indexed
        if later < len(self._segments):
            return self._segments[later].base_offset
        return self.log_end_offset

    def _iterate_batches(
        self, start_offset: int, bound: int
    ) -> Iterator[tuple[BatchHeader, Buffer]]:
        """Header and bytes of the batches from that with `start_offset` up to `bound`."""
        found = self._locate(start_offset)
        if found is None:
            return
        first, index = found
        for segment in list(self._segments):
            if segment.base_offset < first.base_offset:
                continue
            for at in range(index, len(segment)):
                header = segment.header(at)
                if header.base_offset >= bound:
                    return
                yield header, segment.batch(at)
            index = 0

    # --- writing -------------------------------------------------------------------------------

    def _store(
        self,
        batch: Stored,
        header: BatchHeader,
        leader_epoch: int,
        new_header: bytes | None,
        now_wall_ms: int,
    ) -> None:
        """Append `batch` at the offset in `header`, into a new segment if the old one is full."""
        base_offset = header.base_offset
        assert base_offset >= self.log_end_offset, "offsets grow"
        last_offset = base_offset + header.last_offset_delta
        max_timestamp = header.max_timestamp
        config = self.config
        segments = self._segments
        if segments:
            segment = segments[-1]
            if (
                (self.must_roll and segment.size_bytes)
                or last_offset - segment.base_offset > MAX_RELATIVE_OFFSET
                or segment.should_roll(
                    len(batch), max_timestamp, now_wall_ms, config.segment_bytes, self._segment_ms()
                )
            ):
                segment = self._roll(base_offset, now_wall_ms)
        else:
            is_near = last_offset - self.log_end_offset <= MAX_RELATIVE_OFFSET
            segment = self._roll(self.log_end_offset if is_near else base_offset, now_wall_ms)
        segment.append(batch, base_offset, last_offset, leader_epoch, max_timestamp, new_header)
        segment.modified_wall_ms = now_wall_ms
        self.log_end_offset = last_offset + 1
        self._end_metadata = None

    def _segment_ms(self) -> int:
        """How long the active segment may grow: segment.ms less this segment's own jitter.

        The jitter keeps the segments of many partitions from rolling together. Kafka throws dice;
        here it is spread by names and offset, so that a run repeats.
        """
        config = self.config
        jitter_ms = min(config.segment_jitter_ms, config.segment_ms)
        if not jitter_ms:
            return config.max_segment_ms
        name = f"{self.topic}-{self.partition}-{self._segments[-1].base_offset}"
        return config.max_segment_ms - crc32(name.encode()) % jitter_ms

    def _roll(self, base_offset: int, now_wall_ms: int) -> Segment:
        segment = Segment(base_offset, now_wall_ms, self.config.index_interval_bytes)
        self._segments = [*self._segments, segment]
        self.must_roll = False
        self.wants_upkeep = True
        return segment

    # --- cutting -------------------------------------------------------------------------------

    def _replace_segments(self, count: int, replaced: Sequence[Segment]) -> None:
        """Put these in the place of the first `count` segments."""
        self._segments = [*replaced, *self._segments[count:]]
        self._end_metadata = None

    def _drop_segments_before(self, offset: int) -> None:
        """Forget the segments that lie below `offset` as a whole, the active one too.

        Kafka: UnifiedLog.deleteLogStartOffsetBreachedSegments, which waits for its next round.
        """
        if offset == self.log_end_offset:
            self._segments = ()
        else:
            at = bisect_right(self._segments, offset, key=_segment_base_offset) - 1
            if at > 0:
                self._segments = self._segments[at:]
        self._end_metadata = None

    def _drop_batches_from(self, offset: int) -> None:
        """Forget the batches that reach `offset`, which becomes the log end."""
        segments = [segment for segment in self._segments if segment.base_offset <= offset]
        if segments:
            last = segments[-1]
            keep = last.find(offset)
            if keep < len(last):
                segments[-1] = last.beginning(keep)
        self._segments = segments
        self.log_end_offset = offset
        self._end_metadata = None
