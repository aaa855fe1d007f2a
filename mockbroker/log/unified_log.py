"""The log of one partition: its batches, its offsets, and who may read how far.

The replica room owns one per hosted partition: `Partition` appends, reads and moves the high
watermark; nothing else changes a log. All is in memory and a log without batches is a few hundred
bytes: its parts are made when they are first needed. Follows Kafka's UnifiedLog; the segments are
`LocalLog`'s, producers and transactions `TransactionalLog`'s.

Invariant, asserted where one of them changes:
`log_start_offset <= last_stable_offset <= high_watermark <= log_end_offset`.
Errors that a client must see come back in `AppendResult` and `ReadResult`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.config.log_config import DEFAULT_LOG_CONFIG
from mockbroker.log import timestamp_lookup
from mockbroker.log.epoch_cache import LeaderEpochCache
from mockbroker.log.offsets import (
    UNKNOWN_OFFSET_METADATA,
    FetchIsolation,
    LogOffsetMetadata,
    TimestampAndOffset,
)
from mockbroker.log.results import AppendOrigin, AppendResult, ReadResult
from mockbroker.log.transactional_log import TRANSACTIONS_V2, TransactionalLog
from mockbroker.log.validator import InspectedBatch, Refusal, validate
from mockbroker_protocol.errors import ErrorCode, ProtocolError
from mockbroker_protocol.records.batch import (
    control_batch,
    iterate_batches,
    read_batch_header,
    verify_crc,
)
from mockbroker_protocol.slices import all_at_once

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from mockbroker.config.log_config import LogConfig
    from mockbroker.log.aborted import CompletedTransaction
    from mockbroker.log.results import Buffer, Stored
    from mockbroker.log.segment import Segment
    from mockbroker_protocol.records.batch import BatchHeader

_NONE: Final = ErrorCode.NONE
_LOG_END: Final = FetchIsolation.LOG_END
_HIGH_WATERMARK: Final = FetchIsolation.HIGH_WATERMARK
_TXN_COMMITTED: Final = FetchIsolation.TXN_COMMITTED

_OUT_OF_RANGE: Final = ReadResult(
    UNKNOWN_OFFSET_METADATA, [], 0, None, error=ErrorCode.OFFSET_OUT_OF_RANGE
)


class UnifiedLog(TransactionalLog):
    """One partition's log."""

    __slots__ = (
        "_epochs",
        "_idle_read",
        "first_dirty_offset",
        "flushed_offset",
    )

    def __init__(
        self, topic: str = "", partition: int = 0, config: LogConfig = DEFAULT_LOG_CONFIG
    ) -> None:
        super().__init__(topic, partition, config)
        self.first_dirty_offset = 0
        """Below it every segment was compacted (Kafka: the cleaner's checkpoint)."""
        self.flushed_offset = 0
        """Up to where it was flushed otherwise than by its length: see `recovery`."""
        self._epochs: LeaderEpochCache | None = None
        # The last empty answer at the high watermark: idle polls get the same one again.
        self._idle_read: ReadResult | None = None

    def __repr__(self) -> str:
        return (
            f"<UnifiedLog {self.topic}-{self.partition} {self.log_start_offset} <= "
            f"{self.last_stable_offset} <= {self.high_watermark} <= {self.log_end_offset}>"
        )

    def copy(self) -> UnifiedLog:
        """The same log, of the same segments: one of the two must not be appended to.

        `checkpoint.LogCheckpoint` alone calls this, and keeps the copy as it is.
        """
        made = UnifiedLog(self.topic, self.partition, self.config)
        made._segments = self._segments
        made.log_start_offset = self.log_start_offset
        made.high_watermark = self.high_watermark
        made.log_end_offset = self.log_end_offset
        made.first_dirty_offset = self.first_dirty_offset
        made.flushed_offset = self.flushed_offset
        made.wants_upkeep = self.wants_upkeep
        made._first_unstable_offset = self._first_unstable_offset
        made._producers = None if self._producers is None else self._producers.copy()
        made._aborted = None if self._aborted is None else self._aborted.copy()
        made._epochs = None if self._epochs is None else self._epochs.copy()
        return made

    # --- appending ---------------------------------------------------------------------------

    def append_as_leader(
        self,
        records: Buffer | InspectedBatch,
        leader_epoch: int,
        now_wall_ms: int,
        *,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        transaction_version: int = 0,
    ) -> AppendResult:
        """Check the first batch in `records`, give it the next offsets and store it.

        What follows that batch is trimmed. A large writable buffer is taken over and changed. A
        duplicate of one of its producer's last five batches is answered, not stored again.
        """
        validated = validate(records, self.config, origin, now_wall_ms)
        if isinstance(validated, Refusal):
            return self._refuse(validated)
        header = validated.header
        if len(validated.batch) > self.config.segment_bytes:
            return AppendResult(ErrorCode.RECORD_LIST_TOO_LARGE)
        base_offset = header.base_offset = self.log_end_offset
        if header.producer_id >= 0:
            refused = self._check_producer(header, origin, transaction_version)
            if refused is not None:
                return refused
        self._append(validated.batch, header, leader_epoch, validated.new_header, now_wall_ms)
        if header.producer_id >= 0:
            self._producer_state().append_data_batch(header)
            self._update_first_unstable_offset()
        return AppendResult(
            _NONE,
            base_offset,
            self.log_end_offset - 1,
            now_wall_ms if self.config.log_append_time else -1,
            self.log_start_offset,
        )

    def append_end_of_transaction(
        self,
        producer_id: int,
        producer_epoch: int,
        coordinator_epoch: int,
        leader_epoch: int,
        now_wall_ms: int,
        *,
        commit: bool,
        transaction_version: int = 0,
    ) -> AppendResult:
        """Write the marker that commits or aborts what the producer wrote here."""
        refused = self._producer_state().check_marker(
            producer_id,
            producer_epoch,
            coordinator_epoch,
            epoch_grows=transaction_version >= TRANSACTIONS_V2,
        )
        if refused is not _NONE:
            return AppendResult(refused, log_start_offset=self.log_start_offset)
        marker = control_batch(producer_id, producer_epoch, commit, coordinator_epoch, now_wall_ms)
        header = read_batch_header(marker)
        offset = header.base_offset = self.log_end_offset
        self._append(memoryview(marker), header, leader_epoch, None, now_wall_ms)
        self._end_transaction(header, coordinator_epoch, commit)
        self._update_first_unstable_offset()
        return AppendResult(_NONE, offset, offset, -1, self.log_start_offset)

    def append_as_follower(self, records: Buffer, now_wall_ms: int) -> AppendResult:
        """Store the whole batches of `records` as a leader stamped them; gaps are allowed.

        CORRUPT_MESSAGE for a bad checksum or bad bytes in any of them, else OFFSET_OUT_OF_RANGE for
        offsets that do not grow: nothing is stored then.
        """
        view = memoryview(records)
        next_offset = self.log_end_offset
        grows = True
        batches: list[tuple[int, BatchHeader]] = []
        try:
            for pos, header in iterate_batches(view):
                if not verify_crc(view, pos, header):
                    return AppendResult(ErrorCode.CORRUPT_MESSAGE)
                grows = grows and header.base_offset >= next_offset
                next_offset = header.last_offset + 1
                batches.append((pos, header))
        except ProtocolError:
            return AppendResult(ErrorCode.CORRUPT_MESSAGE)
        if not grows:
            return AppendResult(ErrorCode.OFFSET_OUT_OF_RANGE)
        if not batches:
            return AppendResult(_NONE, log_start_offset=self.log_start_offset)
        for pos, header in batches:
            batch = view[pos : pos + header.size_in_bytes]
            self._append(batch, header, header.partition_leader_epoch, None, now_wall_ms)
            self._remember_producer(header, batch)
        self._update_first_unstable_offset()
        first_offset = batches[0][1].base_offset
        return AppendResult(_NONE, first_offset, next_offset - 1, -1, self.log_start_offset)

    def begins_within(self, records: Buffer) -> bool:
        """Whether this log ends in the middle of the first batch of these and has nothing of it.

        An empty one does that begins there, and one that was cut within a batch of its own.
        """
        header = read_batch_header(records)
        if not header.base_offset < self.log_end_offset <= header.last_offset:
            return False
        for segment in reversed(self._segments):
            if len(segment):
                return segment.last_offset(-1) < header.base_offset
        return True

    def is_displaced_by(self, records: Buffer, leader_log_start: int) -> bool:
        """Whether these are stored from where they begin, below this log's end, in its place.

        So where the leader's log begins in the first batch, or this one, which has nothing of it
        (Partition.appendRecordsToFollowerOrFutureReplica); never if offsets do not grow in them.
        """
        if leader_log_start < self.log_end_offset and not self.begins_within(records):
            return False
        next_offset = 0
        for _, header in iterate_batches(memoryview(records)):
            if header.base_offset < next_offset:
                return False
            next_offset = header.last_offset + 1
        return True

    def _refuse(self, refusal: Refusal) -> AppendResult:
        return AppendResult(
            refusal.error,
            log_start_offset=self.log_start_offset if refusal.tells_start else -1,
            record_errors=refusal.record_errors,
            error_message=refusal.message,
        )

    def _append(
        self,
        batch: Stored,
        header: BatchHeader,
        leader_epoch: int,
        new_header: bytes | None,
        now_wall_ms: int,
    ) -> None:
        epochs = self._epochs
        if leader_epoch >= 0 and (epochs is None or epochs.latest_epoch() != leader_epoch):
            self.assign_epoch(leader_epoch, header.base_offset)
        self._store(batch, header, leader_epoch, new_header, now_wall_ms)
        self._idle_read = None

    # --- offsets -------------------------------------------------------------------------------

    def advance_high_watermark(self, offset: int) -> bool:
        """Raise the high watermark; False when it is there or above already."""
        if offset <= self.high_watermark:
            return False
        self._move_high_watermark(offset)
        return True

    def set_high_watermark(self, offset: int) -> bool:
        """Take over another's high watermark, also a lower one, as far as this log reaches."""
        offset = min(max(offset, self.log_start_offset), self.log_end_offset)
        if offset == self.high_watermark:
            return False
        self._move_high_watermark(offset)
        return True

    def _move_high_watermark(self, offset: int) -> None:
        self.high_watermark = offset
        if self._producers is None:
            assert self.log_start_offset <= offset <= self.log_end_offset, self
        else:
            self._producers.on_high_watermark_updated(offset)
            self._update_first_unstable_offset()

    # --- reading -------------------------------------------------------------------------------

    def read(
        self, offset: int, max_bytes: int, isolation: FetchIsolation, min_one: bool
    ) -> ReadResult:
        """Bytes from the batch that holds `offset`, at most `max_bytes` and of one segment.

        Raw bytes: the last batch may be cut. `min_one`: the first batch is given whole even if it
        is larger than that; otherwise a first batch that does not fit leaves the result empty.
        """
        if isolation is _HIGH_WATERMARK:
            idle = self._idle_read
            bound = self.high_watermark
            if idle is not None and idle.offset_metadata.message_offset == offset == bound:
                return idle
        else:
            bound = self.log_end_offset if isolation is _LOG_END else self.last_stable_offset
        if offset < self.log_start_offset or offset > self.log_end_offset:
            return _OUT_OF_RANGE
        if offset < bound:
            result = self._read_segment(offset, max_bytes, bound, min_one)
            if isolation is _TXN_COMMITTED:
                self._add_aborted(offset, result)
            return result
        metadata = self.offset_metadata(offset)
        if isolation is _TXN_COMMITTED:
            return ReadResult(metadata, [], 0, [])
        idle = ReadResult(metadata, [], 0, None)
        if isolation is _HIGH_WATERMARK and offset == bound:
            self._idle_read = idle
        return idle

    def _add_aborted(self, offset: int, result: ReadResult) -> None:
        """LocalLog.addAbortedTransactions; not for a first batch that did not fit."""
        if result.first_entry_incomplete or result.error is not _NONE:
            return
        result.aborted = []
        if self._aborted is not None:
            start = result.offset_metadata
            end = LogOffsetMetadata(
                start.message_offset,
                start.segment_base_offset,
                start.relative_position + result.size_bytes,
            )
            result.aborted = self._aborted.collect(offset, self._upper_bound_offset(end))

    def iterate_batches(
        self, start_offset: int, isolation: FetchIsolation = _LOG_END
    ) -> Iterator[tuple[BatchHeader, Buffer]]:
        """Header and bytes of each stored batch from that with `start_offset` up to the bound."""
        return self._iterate_batches(start_offset, self.end_offset(isolation))

    def end_offset(self, isolation: FetchIsolation) -> int:
        """Up to where a reader of that isolation may read."""
        if isolation is _LOG_END:
            return self.log_end_offset
        return self.high_watermark if isolation is _HIGH_WATERMARK else self.last_stable_offset

    # --- look-ups --------------------------------------------------------------------------------

    def offset_for_timestamp(
        self, timestamp: int, isolation: FetchIsolation = _HIGH_WATERMARK
    ) -> TimestampAndOffset | None:
        """As `find_timestamp`, at once."""
        return all_at_once(self.find_timestamp(timestamp, isolation))

    def find_timestamp(
        self, timestamp: int, isolation: FetchIsolation = _HIGH_WATERMARK
    ) -> Generator[object, None, TimestampAndOffset | None]:
        """The answer of ListOffsets, also for its special timestamps -1 to -6; None without one.

        In slices, where batches are looked through: what is appended meanwhile may be found or not.

        Partition.fetchOffsetForTimestamp: what is found at or behind the reader's bound does not
        count. An unknown negative timestamp is the caller's to refuse.
        """
        if timestamp == timestamp_lookup.LATEST_TIMESTAMP:
            return TimestampAndOffset(-1, self.end_offset(isolation), self.latest_epoch)
        if timestamp in (
            timestamp_lookup.EARLIEST_TIMESTAMP,
            timestamp_lookup.EARLIEST_LOCAL_TIMESTAMP,
        ):
            epochs = self._epochs
            start = self.log_start_offset
            epoch = epochs.epoch_for_offset(start) if epochs is not None else -1
            return TimestampAndOffset(-1, start, epoch)
        if timestamp == timestamp_lookup.MAX_TIMESTAMP:
            found = yield from timestamp_lookup.newest(self._segments)
        elif timestamp >= 0:
            found = yield from timestamp_lookup.first_at_or_after(
                self._segments, timestamp, self.log_start_offset
            )
        else:
            return None  # nothing is tiered
        if found is None or found.offset >= self.end_offset(isolation):
            return None
        return found

    @property
    def latest_epoch(self) -> int:
        """The newest leader epoch that this log knows of; -1 without any."""
        return self._epochs.latest_epoch() if self._epochs is not None else -1

    def leader_epochs(self) -> list[tuple[int, int]]:
        """Leader epochs with their first offsets, oldest first."""
        epochs = self._epochs
        return [] if epochs is None else list(zip(epochs.epochs, epochs.start_offsets, strict=True))

    def assign_epoch(self, leader_epoch: int, start_offset: int | None = None) -> None:
        """An epoch begins, at the log end unless said otherwise: a new leader says so at once."""
        if self._epochs is None:
            self._epochs = LeaderEpochCache()
        self._epochs.assign(
            leader_epoch, self.log_end_offset if start_offset is None else start_offset
        )

    def end_offset_for_epoch(self, leader_epoch: int) -> tuple[int, int] | None:
        """(epoch, end offset) of the largest epoch known up to that one; None when undefined."""
        if self._epochs is None:
            return None
        return self._epochs.end_offset_for(leader_epoch, self.log_end_offset)

    # --- cutting ---------------------------------------------------------------------------------

    def delete_records_before(self, offset: int) -> ErrorCode:
        """DeleteRecords: move the log start up to `offset`; -1 stands for the high watermark."""
        if not self.config.delete:
            return ErrorCode.POLICY_VIOLATION
        if offset == -1:
            offset = self.high_watermark
        if offset < 0 or offset > self.high_watermark:
            return ErrorCode.OFFSET_OUT_OF_RANGE
        self.advance_log_start(offset)
        return _NONE

    def advance_log_start(self, offset: int) -> bool:
        """Raise the log start, at most to the high watermark; drops segments that lie below it."""
        if offset <= self.log_start_offset:
            return False
        assert offset <= self.high_watermark, self
        self.log_start_offset = offset
        self._drop_segments_before(offset)
        if self._epochs is not None:
            self._epochs.truncate_from_start(offset)
        if self._aborted is not None:
            self._aborted.delete_before(offset)
        if self._producers is not None:
            self._producers.on_high_watermark_updated(offset)
        self._idle_read = None
        self._update_first_unstable_offset()
        self._check_offsets()
        return True

    def delete_oldest_segments(self, count: int) -> None:
        """Drop that many segments; the log start moves up to what is left, or to the log end."""
        segments = self._segments
        left = segments[count:]
        start = left[0].base_offset if left else self.log_end_offset
        self._replace_segments(count, ())
        self._idle_read = None
        self.advance_log_start(start)

    def replace_segments(
        self,
        count: int,
        replaced: Sequence[Segment],
        end_offset: int,
        kept_aborted: Sequence[CompletedTransaction],
    ) -> None:
        """Put compacted segments in the place of the first `count`, which end at `end_offset`.

        Of the aborted transactions with a marker below it, `kept_aborted` are left.
        """
        self._replace_segments(count, replaced)
        if self._aborted is not None:
            self._aborted.replace_before(end_offset, kept_aborted)
        self.first_dirty_offset = end_offset
        self._idle_read = None

    def truncate_to(self, offset: int) -> bool:
        """Drop every batch that reaches `offset`, which becomes the log end; False if it is past.

        A batch that begins before it goes too: the leader sends it again.
        """
        assert offset >= 0, "an offset is never negative"
        if offset >= self.log_end_offset:
            if self._epochs is not None:
                self._epochs.truncate_from_end(self.log_end_offset)
            return False
        if not self._segments or self._segments[0].base_offset > offset:
            self.truncate_fully_and_start_at(offset)
            return True
        self._drop_batches_from(offset)
        self.log_start_offset = min(self.log_start_offset, offset)
        self.high_watermark = min(self.high_watermark, offset)
        self._forget_from(offset)
        return True

    def truncate_fully_and_start_at(self, offset: int) -> None:
        """Drop everything and go on at `offset`."""
        self._segments = ()
        self._end_metadata = None
        self.log_start_offset = self.high_watermark = self.log_end_offset = offset
        if self._epochs is not None:
            self._epochs.clear()
        self._forget_from(0)

    def _forget_from(self, offset: int) -> None:
        """Bring what is derived from the batches in line with those that are left."""
        self._idle_read = None
        if self._epochs is not None:
            self._epochs.truncate_from_end(offset)
        self.first_dirty_offset = min(self.first_dirty_offset, offset)
        self.flushed_offset = min(self.flushed_offset, offset)
        self._rebuild_producers()
        self._check_offsets()
