"""What a log knows of the producers that wrote to it, and of their transactions.

`UnifiedLog` extends it: its appends ask and tell here, its reads take from here up to where no
transaction is open. Both the state of the producers and the index of aborted transactions are made
when they are first needed. Follows the producer half of Kafka's UnifiedLog.

Invariant: `log_start_offset <= last_stable_offset <= high_watermark <= log_end_offset`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.log.aborted import AbortedIndex, CompletedTransaction
from mockbroker.log.local_log import LocalLog
from mockbroker.log.producer_state import ProducerStateManager
from mockbroker.log.results import AppendOrigin, AppendResult
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.records.batch import (
    CONTROL_COMMIT,
    iterate_records,
    parse_control_record,
)

if TYPE_CHECKING:
    from mockbroker.config.log_config import LogConfig
    from mockbroker.log.results import Buffer
    from mockbroker_protocol.records.batch import BatchHeader

_NONE: Final = ErrorCode.NONE
TRANSACTIONS_V2: Final = 2
"""From this version on each transaction has an epoch of its own (KIP-890)."""


class TransactionalLog(LocalLog):
    """The segments of one partition, with the state of its producers."""

    __slots__ = (
        "_aborted",
        "_first_unstable_offset",
        "_producers",
        "high_watermark",
        "log_start_offset",
    )

    def __init__(self, topic: str, partition: int, config: LogConfig) -> None:
        super().__init__(topic, partition, config)
        self.log_start_offset = 0
        self.high_watermark = 0
        self._first_unstable_offset = -1
        self._producers: ProducerStateManager | None = None
        self._aborted: AbortedIndex | None = None

    @property
    def last_stable_offset(self) -> int:
        """Up to where no transaction is open; the high watermark when none is."""
        first_unstable = self._first_unstable_offset
        if first_unstable < 0 or first_unstable > self.high_watermark:
            return self.high_watermark
        return first_unstable

    @property
    def producers(self) -> ProducerStateManager | None:
        """State of the idempotent producers; None when there never was one."""
        return self._producers

    def has_ongoing_transaction(self, producer_id: int, producer_epoch: int | None = None) -> bool:
        """Whether the producer's transaction is open here, so that it needs no verification.

        Without an epoch: in any.
        """
        producers = self._producers
        return producers is not None and producers.has_ongoing_transaction(
            producer_id, producer_epoch
        )

    def _producer_state(self) -> ProducerStateManager:
        if self._producers is None:
            self._producers = ProducerStateManager()
            self.wants_upkeep = True
        return self._producers

    def aborted_transactions(self, offset: int, bound: int) -> list[CompletedTransaction]:
        """The aborted transactions that reach `offset` or more and began below `bound`."""
        return [] if self._aborted is None else self._aborted.collect(offset, bound)

    def last_records_of_producers(self) -> dict[int, tuple[int, int]]:
        """By producer: the last offset of its data (-1: it has a marker only), and its epoch."""
        producers = self._producers
        return {} if producers is None else producers.last_records()

    def forget_producers_ahead(self, later: TransactionalLog) -> None:
        """Forget producers that have written on in a later state of this log."""
        if self._producers is not None and later._producers is not None:
            self._producers.forget_those_ahead(later._producers)

    def expire_producers(self, now_wall_ms: int, expiration_ms: int) -> int | None:
        """Forget producers that are silent for so long; when to look again, None: at no time."""
        producers = self._producers
        if producers is None:
            return None
        producers.remove_expired(now_wall_ms, expiration_ms)
        oldest = producers.oldest_timestamp()
        if oldest is None:
            if producers.first_unstable_offset() >= 0:
                # Who has a transaction open may go so long after its end, which is yet to come.
                return now_wall_ms + expiration_ms
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
            self._end_transaction(header, coordinator_epoch, kind == CONTROL_COMMIT)
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
            if self._aborted is None:
                self._aborted = AbortedIndex()
            self._aborted.append(completed)

    def _update_first_unstable_offset(self) -> None:
        """UnifiedLog.maybeIncrementFirstUnstableOffset; deletions may raise it to the log start."""
        if self._producers is not None:
            first = self._producers.first_unstable_offset()
            self._first_unstable_offset = max(first, self.log_start_offset) if first >= 0 else -1
            self._check_offsets()

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
            and transaction_version >= TRANSACTIONS_V2,
        )
        if error is _NONE:
            return None
        return AppendResult(error, log_start_offset=self.log_start_offset)

    def _rebuild_producers(self) -> None:
        """Learn of the producers anew from the batches that are left (rebuildProducerState)."""
        self._first_unstable_offset = -1
        if self._producers is None and self._aborted is None:
            return
        self._aborted = None
        producers = self._producer_state()
        producers.clear()
        for header, batch in self._iterate_batches(self.log_start_offset, self.log_end_offset):
            self._remember_producer(header, batch)
        producers.on_high_watermark_updated(self.high_watermark)
        self._update_first_unstable_offset()

    def _check_offsets(self) -> None:
        assert (
            self.log_start_offset
            <= self.last_stable_offset
            <= self.high_watermark
            <= self.log_end_offset
        ), self
