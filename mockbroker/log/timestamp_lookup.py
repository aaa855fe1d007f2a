"""Finds an offset by the timestamp of its record, inside batches too.

`UnifiedLog.offset_for_timestamp` calls this with its segments; nothing here changes them. Follows
UnifiedLog.searchOffsetInLocalLog, FileRecords.searchForTimestamp and
RecordBatch.offsetOfMaxTimestamp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.log.offsets import TimestampAndOffset
from mockbroker_protocol.records.batch import iterate_in_slices

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from mockbroker.log.segment import Segment

LATEST_TIMESTAMP = -1
EARLIEST_TIMESTAMP = -2
MAX_TIMESTAMP = -3
EARLIEST_LOCAL_TIMESTAMP = -4
LOOKED_THROUGH: Final = 2000
"""Records of one batch in one slice."""


def first_at_or_after(
    segments: Sequence[Segment], timestamp: int, log_start_offset: int
) -> Generator[object, None, TimestampAndOffset | None]:
    """The first record in offset order, from the log start on, that is not older."""
    for segment in list(segments):
        if segment.max_timestamp < timestamp:
            continue
        index = segment.find_timestamp(timestamp, segment.find(log_start_offset))
        while index < len(segment):
            found = yield from _first_in_batch(segment, index, timestamp, log_start_offset)
            if found is not None:
                return found
            index = segment.find_timestamp(timestamp, index + 1)
    return None


def newest(segments: Sequence[Segment]) -> Generator[object, None, TimestampAndOffset | None]:
    """The first record that carries the highest timestamp of all; None in an empty log.

    It may lie below the log start: only whole segments are forgotten (as in Kafka).
    """
    segment = max(segments, key=lambda segment: segment.max_timestamp, default=None)
    if segment is None or not len(segment):
        return None
    index = segment.find_timestamp(segment.max_timestamp, 0)
    return (yield from _first_in_batch(segment, index, segment.max_timestamp, segment.base_offset))


def _first_in_batch(
    segment: Segment, index: int, timestamp: int, start_offset: int
) -> Generator[object, None, TimestampAndOffset | None]:
    header = segment.header(index)
    records = yield from iterate_in_slices(segment.batch(index), header)
    for looked_through, record in enumerate(records, 1):
        if not looked_through % LOOKED_THROUGH:
            yield None
        if record.timestamp >= timestamp and record.offset >= start_offset:
            return TimestampAndOffset(
                record.timestamp, record.offset, header.partition_leader_epoch
            )
    return None
