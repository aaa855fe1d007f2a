"""Compaction: of the records with one key only the last stays (Kafka: Cleaner).

`replica.log_upkeep` calls `clean` for a log that `cleanable` found dirty enough. Offsets never
change: a batch keeps its first and last offset whatever is left in it, and goes when it is empty,
unless it says where a living producer stands or where this cleaning ended. Tombstones and the
markers of empty transactions stay for delete.retention.ms more, counted from the cleaning that
first met them, which writes that horizon into their batch (KIP-534).

Invariant: the segments from the first dirty offset's bound on, the active one among them, are
never touched; readers keep the bytes that they hold.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.log.cleaned_transactions import CleanedTransactions
from mockbroker.log.segment import MAX_RELATIVE_OFFSET, Segment
from mockbroker_protocol.records.batch import (
    LOG_APPEND_TIME,
    iterate_records,
    patched_header,
    read_batch_header,
    rebuild_batch,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mockbroker.log.results import Buffer
    from mockbroker.log.unified_log import UnifiedLog
    from mockbroker_protocol.records.batch import BatchHeader
    from mockbroker_protocol.records.record_codec import Record

_NO_OFFSET: Final = -1


def clean(log: UnifiedLog, first_dirty_offset: int, end_offset: int, now_wall_ms: int) -> None:
    """Compact the segments below `end_offset`, where the first segment to leave alone begins.

    `ProtocolError` when a record cannot be read: the log is as it was then.
    """
    segments = [each for each in log.segments() if each.base_offset < end_offset]
    latest = _latest_offsets(log, segments, first_dirty_offset, end_offset)
    cleaning = _Cleaning(log, latest, end_offset, now_wall_ms)
    replaced = [cleaning.merge(group) for group in _groups(segments, log.config.segment_bytes)]
    log.replace_segments(len(segments), replaced, end_offset, cleaning.transactions.kept_aborted)


def _latest_offsets(
    log: UnifiedLog, segments: Sequence[Segment], first_dirty_offset: int, end_offset: int
) -> dict[bytes, int]:
    """The last offset of each key in the dirty part, data of aborted transactions aside."""
    transactions = CleanedTransactions(log.aborted_transactions(first_dirty_offset, end_offset))
    latest: dict[bytes, int] = {}
    for segment in segments:
        for header, batch in _batches(segment, first_dirty_offset):
            if header.is_control:
                transactions.marker_may_go(header, batch)
            elif not transactions.data_may_go(header):
                for record in iterate_records(batch, 0, header):
                    if record.key is not None and record.offset >= first_dirty_offset:
                        latest[bytes(record.key)] = record.offset
    return latest


def _groups(segments: Sequence[Segment], segment_bytes: int) -> Iterator[list[Segment]]:
    """Neighbours that fit into one segment together (Cleaner.groupSegmentsBySize)."""
    group: list[Segment] = []
    size = 0
    for segment in segments:
        if group and (
            size + segment.size_bytes > segment_bytes
            or (
                len(segment)
                and segment.last_offset(-1) - group[0].base_offset > MAX_RELATIVE_OFFSET
            )
        ):
            yield group
            group, size = [], 0
        group.append(segment)
        size += segment.size_bytes
    if group:
        yield group


def _batches(segment: Segment, offset: int = 0) -> Iterator[tuple[BatchHeader, Buffer]]:
    for index in range(segment.find(offset), len(segment)):
        yield segment.header(index), segment.batch(index)


class _Cleaning:
    """One pass over a log, from its first segment."""

    __slots__ = ("_end_offset", "_last_of_producers", "_latest", "_log", "_now", "transactions")

    def __init__(
        self, log: UnifiedLog, latest: dict[bytes, int], end_offset: int, now_wall_ms: int
    ) -> None:
        self._log = log
        self._latest = latest
        self._end_offset = end_offset
        self._now = now_wall_ms
        self._last_of_producers = log.last_records_of_producers()
        self.transactions = CleanedTransactions(log.aborted_transactions(0, end_offset))

    def merge(self, group: list[Segment]) -> Segment:
        """What is left of neighbouring segments, as one."""
        first, last = group[0], group[-1]
        merged = Segment(
            first.base_offset, first.created_wall_ms, self._log.config.index_interval_bytes
        )
        for segment in group:
            for header, batch in _batches(segment):
                kept = self._filter(header, batch)
                if kept is not None:
                    left = read_batch_header(kept)
                    merged.append(
                        memoryview(kept).toreadonly(),
                        left.base_offset,
                        left.last_offset,
                        left.partition_leader_epoch,
                        left.max_timestamp,
                    )
        merged.modified_wall_ms = last.modified_wall_ms
        return merged

    def _filter(self, header: BatchHeader, batch: Buffer) -> Buffer | None:
        """The batch as it is to be kept: itself, a smaller one, an empty one or None."""
        horizon_ms = header.delete_horizon_ms
        may_go = (
            self.transactions.marker_may_go(header, batch)
            if header.is_control
            else self.transactions.data_may_go(header)
        )
        empty_transaction = may_go and header.is_control
        discard = may_go
        if header.is_control:
            discard = may_go and horizon_ms is not None and horizon_ms <= self._now
        records: list[Record] = []
        if not discard:
            records = [
                record
                for record in iterate_records(batch, 0, header)
                if header.is_control or self._stays(record, horizon_ms)
            ]
        if not records:
            return self._empty(header) if self._is_needed(header) else None
        tombstones = any(record.value is None for record in records)
        sets_horizon = horizon_ms is None and (tombstones or empty_transaction)
        if len(records) == header.record_count and not sets_horizon:
            return batch
        if sets_horizon:
            horizon_ms = self._now + self._log.config.delete_retention_ms
        return _build(header, records, horizon_ms, compression=header.compression)

    def _stays(self, record: Record, horizon_ms: int | None) -> bool:
        """Cleaner.shouldRetainRecord; below the end offset, so every dirty key is known."""
        if record.key is None:
            return False
        if record.offset < self._latest.get(bytes(record.key), _NO_OFFSET):
            return False
        return record.value is not None or horizon_ms is None or self._now < horizon_ms

    def _is_needed(self, header: BatchHeader) -> bool:
        """Whether the batch must stay even without records."""
        if header.next_offset == self._end_offset:
            return True
        last = self._last_of_producers.get(header.producer_id)
        if header.producer_id < 0 or last is None:
            return False
        last_data_offset, producer_epoch = last
        if last_data_offset != _NO_OFFSET:
            return header.last_offset == last_data_offset
        return header.is_control and header.producer_epoch == producer_epoch

    def _empty(self, header: BatchHeader) -> Buffer:
        """The batch without its records (DefaultRecordBatch.writeEmptyHeader)."""
        return _with_max_timestamp(_build(header, [], None, compression=0), header)


def _build(
    header: BatchHeader, records: list[Record], horizon_ms: int | None, *, compression: int
) -> bytes:
    """The batch with these of its records (MemoryRecords.buildRetainedRecordsInto)."""
    return rebuild_batch(
        records,
        header,
        keep_offsets=True,
        compression=compression,
        log_append_time_ms=header.max_timestamp if header.timestamp_type else None,
        delete_horizon_ms=horizon_ms,
    )


def _with_max_timestamp(batch: bytes, header: BatchHeader) -> bytes:
    if header.timestamp_type == LOG_APPEND_TIME:
        return batch
    return patched_header(
        batch,
        0,
        read_batch_header(batch),
        base_offset=header.base_offset,
        leader_epoch=header.partition_leader_epoch,
        max_timestamp=header.max_timestamp,
    )
