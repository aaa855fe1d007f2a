"""The log of one partition: its batches, its offsets, and who may read how far.

The replica room owns one per hosted partition: `Partition` appends, reads and moves the high
watermark; nothing else changes a log. All is in memory and a log without batches is a few hundred
bytes: its parts are made when they are first needed. Follows Kafka's UnifiedLog; the
segments are `LocalLog`'s.

Invariant, asserted where one of them changes:
`log_start_offset <= last_stable_offset <= high_watermark <= log_end_offset`.
Errors that a client must see come back in `AppendResult` and `ReadResult`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.config.log_config import DEFAULT_LOG_CONFIG
from mockbroker.log import timestamp_lookup
from mockbroker.log.aborted import AbortedIndex, AbortedTransaction
from mockbroker.log.epoch_cache import LeaderEpochCache
from mockbroker.log.local_log import LocalLog
from mockbroker.log.offsets import (
    UNKNOWN_OFFSET_METADATA,
    FetchIsolation,
    LogOffsetMetadata,
    LogOffsetSnapshot,
    TimestampAndOffset,
)
from mockbroker.log.producer_state import CompletedTransaction, ProducerStateManager
from mockbroker.log.results import AppendOrigin, AppendResult, ReadResult
from mockbroker.log.validator import Refusal, validate
from mockbroker_protocol.errors import ErrorCode, ProtocolError
from mockbroker_protocol.records.batch import (
    control_batch,
    iterate_batches,
    iterate_records,
    parse_control_record,
    read_batch_header,
    verify_crc,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mockbroker.config.log_config import LogConfig
    from mockbroker.log.results import Buffer
    from mockbroker.log.segment import Segment
    from mockbroker_protocol.records.batch import BatchHeader

_NONE = ErrorCode.NONE
_LOG_END = FetchIsolation.LOG_END
_HIGH_WATERMARK = FetchIsolation.HIGH_WATERMARK
_TXN_COMMITTED = FetchIsolation.TXN_COMMITTED
_CONTROL_COMMIT = 1
_TRANSACTIONS_V2 = 2

_OUT_OF_RANGE = ReadResult(
    UNKNOWN_OFFSET_METADATA, [], 0, None, error=ErrorCode.OFFSET_OUT_OF_RANGE
)


class UnifiedLog(LocalLog):
    """One partition's log."""

    __slots__ = (
        "_aborted",
        "_epochs",
        "_first_unstable_offset",
        "_idle_read",
        "_producers",
        "first_dirty_offset",
        "high_watermark",
        "log_start_offset",
    )

    def __init__(
        self, topic: str = "", partition: int = 0, config: LogConfig = DEFAULT_LOG_CONFIG
    ) -> None:
        super().__init__(topic, partition, config)
        self.log_start_offset = 0
        self.high_watermark = 0
        self.first_dirty_offset = 0
        """Below it every segment was compacted (Kafka: the cleaner's checkpoint)."""
        self._first_unstable_offset = -1
        self._producers: ProducerStateManager | None = None
        self._epochs: LeaderEpochCache | None = None
        self._aborted: AbortedIndex | None = None
        # The last empty answer at the high watermark: idle polls get the same one again.
        self._idle_read: ReadResult | None = None

    def __repr__(self) -> str:
        return (
            f"<UnifiedLog {self.topic}-{self.partition} {self.log_start_offset} <= "
            f"{self.last_stable_offset} <= {self.high_watermark} <= {self.log_end_offset}>"
        )

    # --- appending ---------------------------------------------------------------------------

    def append_as_leader(
        self,
        records: Buffer,
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
            epoch_grows=transaction_version >= _TRANSACTIONS_V2,
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

        CORRUPT_MESSAGE for a bad checksum or bad bytes, OFFSET_OUT_OF_RANGE for offsets that do
        not grow: nothing is stored then.
        """
        view = memoryview(records)
        next_offset = self.log_end_offset
        batches: list[tuple[int, BatchHeader]] = []
        try:
            for pos, header in iterate_batches(view):
                if not verify_crc(view, pos, header):
                    return AppendResult(ErrorCode.CORRUPT_MESSAGE)
                if header.base_offset < next_offset:
                    return AppendResult(ErrorCode.OFFSET_OUT_OF_RANGE)
                next_offset = header.last_offset + 1
                batches.append((pos, header))
        except ProtocolError:
            return AppendResult(ErrorCode.CORRUPT_MESSAGE)
        if not batches:
            return AppendResult(_NONE, log_start_offset=self.log_start_offset)
        for pos, header in batches:
            batch = view[pos : pos + header.size_in_bytes]
            self._append(batch, header, header.partition_leader_epoch, None, now_wall_ms)
            self._remember_producer(header, batch)
        self._update_first_unstable_offset()
        first_offset = batches[0][1].base_offset
        return AppendResult(_NONE, first_offset, next_offset - 1, -1, self.log_start_offset)

    def _refuse(self, refusal: Refusal) -> AppendResult:
        return AppendResult(
            refusal.error,
            log_start_offset=self.log_start_offset if refusal.tells_start else -1,
            record_errors=refusal.record_errors,
            error_message=refusal.message,
        )

    def _append(
        self,
        batch: memoryview,
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

    def _check_producer(
        self, header: BatchHeader, origin: AppendOrigin, transaction_version: int
    ) -> AppendResult | None:
        """None when the batch may be stored (UnifiedLog.analyzeAndValidateProducerState)."""
        producers = self._producer_state()
        if origin is AppendOrigin.CLIENT:
            duplicate = producers.find_duplicate(header)
            if duplicate is not None:
                return AppendResult(
                    _NONE,
                    duplicate.base_offset,
                    duplicate.last_offset,
                    duplicate.timestamp,
                    self.log_start_offset,
                    duplicate=True,
                )
        error = producers.check_data_batch(
            header,
            origin,
            new_producer_starts_at_zero=header.is_transactional
            and transaction_version >= _TRANSACTIONS_V2,
        )
        if error is _NONE:
            return None
        return AppendResult(error, log_start_offset=self.log_start_offset)

    # --- producers and transactions ----------------------------------------------------------

    @property
    def producers(self) -> ProducerStateManager | None:
        """State of the idempotent producers; None when there never was one."""
        return self._producers

    def has_ongoing_transaction(self, producer_id: int, producer_epoch: int) -> bool:
        """Whether the producer's transaction is open here, so that it needs no verification."""
        producers = self._producers
        return producers is not None and producers.has_ongoing_transaction(
            producer_id, producer_epoch
        )

    def _producer_state(self) -> ProducerStateManager:
        if self._producers is None:
            self._producers = ProducerStateManager()
            self.wants_upkeep = True
        return self._producers

    def aborted_transactions(self, offset: int, bound: int) -> list[AbortedTransaction]:
        """The aborted transactions that reach `offset` or more and began below `bound`."""
        return [] if self._aborted is None else self._aborted.collect(offset, bound)

    def last_records_of_producers(self) -> dict[int, tuple[int, int]]:
        """By producer: the last offset of its data (-1: it has a marker only), and its epoch."""
        producers = self._producers
        return {} if producers is None else producers.last_records()

    def expire_producers(self, now_wall_ms: int, expiration_ms: int) -> int | None:
        """Forget producers that are silent for so long; when to look again, None: at no time."""
        producers = self._producers
        if producers is None:
            return None
        producers.remove_expired(now_wall_ms, expiration_ms)
        oldest = producers.oldest_timestamp()
        if oldest is None:
            if producers.first_unstable_offset() < 0:
                self._producers = None
            return None
        return oldest + expiration_ms

    def _remember_producer(self, header: BatchHeader, batch: Buffer) -> None:
        if header.producer_id < 0:
            return
        if not header.is_control:
            self._producer_state().append_data_batch(header)
            return
        for record in iterate_records(batch, 0, header):
            kind, coordinator_epoch = parse_control_record(record)
            self._end_transaction(header, coordinator_epoch, kind == _CONTROL_COMMIT)
            return

    def _end_transaction(self, header: BatchHeader, coordinator_epoch: int, commit: bool) -> None:
        completed = self._producer_state().append_marker(
            header.producer_id,
            header.producer_epoch,
            coordinator_epoch,
            header.base_offset,
            header.max_timestamp,
        )
        if completed is not None and not commit:
            self._note_aborted(completed)

    def _note_aborted(self, completed: CompletedTransaction) -> None:
        if self._aborted is None:
            self._aborted = AbortedIndex()
        self._aborted.append(
            AbortedTransaction(
                completed.producer_id,
                completed.first_offset,
                completed.last_offset,
                completed.last_stable_offset,
            )
        )

    def _update_first_unstable_offset(self) -> None:
        if self._producers is not None:
            first = self._producers.first_unstable_offset()
            self._first_unstable_offset = max(first, self.log_start_offset) if first >= 0 else -1
            self._check_offsets()

    # --- offsets -------------------------------------------------------------------------------

    @property
    def last_stable_offset(self) -> int:
        """Up to where no transaction is open; the high watermark when none is."""
        first_unstable = self._first_unstable_offset
        if first_unstable < 0 or first_unstable > self.high_watermark:
            return self.high_watermark
        return first_unstable

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

    def _check_offsets(self) -> None:
        assert (
            self.log_start_offset
            <= self.last_stable_offset
            <= self.high_watermark
            <= self.log_end_offset
        ), self

    def fetch_offset_snapshot(self) -> LogOffsetSnapshot:
        """Log start, log end, high watermark and last stable offset at this moment."""
        high_watermark = self.high_watermark
        last_stable_offset = self.last_stable_offset
        high_watermark_metadata = self.offset_metadata(high_watermark)
        return LogOffsetSnapshot(
            self.log_start_offset,
            self.log_end_offset_metadata(),
            high_watermark_metadata,
            high_watermark_metadata
            if last_stable_offset == high_watermark
            else self.offset_metadata(last_stable_offset),
        )

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

    def next_deliverable_offset(self, offset: int, isolation: FetchIsolation) -> int | None:
        """The first offset from `offset` on that a reader could be given; None when none yet."""
        offset = max(offset, self.log_start_offset)
        bound = self.end_offset(isolation)
        if offset >= bound:
            return None
        found = self._locate(offset)
        if found is None:
            return None
        segment, index = found
        offset = max(offset, segment.base_offset_of(index))
        return offset if offset < bound else None

    def end_offset(self, isolation: FetchIsolation) -> int:
        """Up to where a reader of that isolation may read."""
        if isolation is _LOG_END:
            return self.log_end_offset
        return self.high_watermark if isolation is _HIGH_WATERMARK else self.last_stable_offset

    # --- look-ups --------------------------------------------------------------------------------

    def offset_for_timestamp(
        self, timestamp: int, isolation: FetchIsolation = _HIGH_WATERMARK
    ) -> TimestampAndOffset | None:
        """The answer of ListOffsets, also for its special timestamps -1 to -6; None without one.

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
            found = timestamp_lookup.newest(self._segments)
        elif timestamp >= 0:
            found = timestamp_lookup.first_at_or_after(
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
        kept_aborted: Sequence[AbortedTransaction],
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
        self._first_unstable_offset = -1
        self.first_dirty_offset = min(self.first_dirty_offset, offset)
        if self._producers is not None or self._aborted is not None:
            self._aborted = None
            producers = self._producer_state()
            producers.clear()
            for header, batch in self.iterate_batches(self.log_start_offset):
                self._remember_producer(header, batch)
            producers.on_high_watermark_updated(self.high_watermark)
            self._update_first_unstable_offset()
        self._check_offsets()
