"""What a log remembers of its producers: sequences, epochs, open transactions (KIP-98, KIP-360).

The log checks a batch here before it stores it, and tells what it stored. Follows Kafka's
ProducerStateManager, ProducerStateEntry and ProducerAppendInfo; the map lives in memory and is
rebuilt from the batches after a truncation, so there are no snapshots.

Invariants: at most five batches a producer; `_ongoing` and `_unreplicated` are ordered by first
offset; a producer has an open transaction exactly if `_ongoing` names it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.log.aborted import CompletedTransaction
from mockbroker.log.results import AppendOrigin
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.named_tuple import NamedTuple

if TYPE_CHECKING:
    from mockbroker_protocol.records.batch import BatchHeader

BATCHES_TO_RETAIN: Final = 5
NO_PRODUCER_EPOCH: Final = -1
NO_COORDINATOR_EPOCH: Final = -1
NO_OFFSET: Final = -1
_MAX_SEQUENCE: Final = 0x7FFFFFFF


class BatchMetadata(NamedTuple):
    """One of the last batches of a producer, to know a duplicate."""

    first_sequence: int
    last_sequence: int
    base_offset: int
    last_offset: int
    timestamp: int


class ProducerStateEntry:
    """One producer id on one partition; offsets and epochs are -1 where there is none."""

    __slots__ = (
        "batches",
        "coordinator_epoch",
        "current_txn_first_offset",
        "last_timestamp",
        "producer_epoch",
    )

    def __init__(self) -> None:
        self.producer_epoch = NO_PRODUCER_EPOCH
        self.batches: list[BatchMetadata] = []
        self.coordinator_epoch = NO_COORDINATOR_EPOCH
        self.last_timestamp = -1
        self.current_txn_first_offset = NO_OFFSET

    @property
    def last_sequence(self) -> int:
        """The last sequence of the current epoch; -1 when it has written nothing yet."""
        return self.batches[-1].last_sequence if self.batches else -1

    def copy(self) -> ProducerStateEntry:
        """The same, to change on its own."""
        made = ProducerStateEntry()
        made.producer_epoch = self.producer_epoch
        made.batches = self.batches[:]
        made.coordinator_epoch = self.coordinator_epoch
        made.last_timestamp = self.last_timestamp
        made.current_txn_first_offset = self.current_txn_first_offset
        return made

    def set_epoch(self, producer_epoch: int) -> None:
        """Adopt the epoch; another one than before starts without batches."""
        if self.producer_epoch != producer_epoch:
            self.batches.clear()
            self.producer_epoch = producer_epoch


class ProducerStateManager:
    """All producers of one log."""

    __slots__ = ("_ongoing", "_unreplicated", "producers")

    def __init__(self) -> None:
        self.producers: dict[int, ProducerStateEntry] = {}
        self._ongoing: dict[int, int] = {}
        self._unreplicated: dict[int, int] = {}

    # --- checks, which change nothing -------------------------------------------------------

    def find_duplicate(self, header: BatchHeader) -> BatchMetadata | None:
        """The stored batch with this producer, epoch and range of sequences, if it is recent."""
        entry = self.producers.get(header.producer_id)
        if entry is None or entry.producer_epoch != header.producer_epoch:
            return None
        first, last = header.base_sequence, header.last_sequence
        for batch in entry.batches:
            if batch.first_sequence == first and batch.last_sequence == last:
                return batch
        return None

    def check_data_batch(
        self, header: BatchHeader, origin: AppendOrigin, *, new_producer_starts_at_zero: bool
    ) -> ErrorCode:
        """Whether the batch may follow (ProducerAppendInfo.appendDataBatch).

        `new_producer_starts_at_zero`: a transactional batch of transactions V2 must begin at
        sequence 0 when the log does not know its producer yet (KIP-890).
        """
        entry = self.producers.get(header.producer_id)
        if entry is None or entry.producer_epoch == NO_PRODUCER_EPOCH:
            if new_producer_starts_at_zero and header.base_sequence > 0:
                return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
            return ErrorCode.NONE
        epoch = header.producer_epoch
        if epoch < entry.producer_epoch:
            return ErrorCode.INVALID_PRODUCER_EPOCH
        if origin is AppendOrigin.CLIENT:
            expected = 0
            if epoch == entry.producer_epoch:
                last = entry.last_sequence
                expected = last + 1 if last != _MAX_SEQUENCE else 0
            if header.base_sequence != expected:
                return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        if entry.current_txn_first_offset != NO_OFFSET and not header.is_transactional:
            return ErrorCode.INVALID_TXN_STATE
        return ErrorCode.NONE

    def check_marker(
        self, producer_id: int, producer_epoch: int, coordinator_epoch: int, *, epoch_grows: bool
    ) -> ErrorCode:
        """Whether the end of a transaction may be written (ProducerAppendInfo.appendEndTxnMarker).

        `epoch_grows`: under transactions V2 a marker carries a higher epoch than the data; an
        equal one is the retry of a marker that is there already.
        """
        entry = self.producers.get(producer_id)
        if entry is None:
            return ErrorCode.NONE
        is_open = entry.current_txn_first_offset != NO_OFFSET
        if producer_epoch < entry.producer_epoch or (
            epoch_grows and is_open and producer_epoch == entry.producer_epoch
        ):
            return ErrorCode.INVALID_PRODUCER_EPOCH
        if coordinator_epoch < entry.coordinator_epoch:
            return ErrorCode.TRANSACTION_COORDINATOR_FENCED
        return ErrorCode.NONE

    # --- what was appended -------------------------------------------------------------------

    def append_data_batch(self, header: BatchHeader) -> None:
        """The batch was stored at its base offset."""
        entry = self._entry(header.producer_id)
        entry.set_epoch(header.producer_epoch)
        base_offset = header.base_offset
        batches = entry.batches
        if len(batches) == BATCHES_TO_RETAIN:
            del batches[0]
        batches.append(
            BatchMetadata(
                header.base_sequence,
                header.last_sequence,
                base_offset,
                header.last_offset,
                header.max_timestamp,
            )
        )
        entry.last_timestamp = header.max_timestamp
        if header.is_transactional and entry.current_txn_first_offset == NO_OFFSET:
            entry.current_txn_first_offset = base_offset
            self._ongoing[base_offset] = header.producer_id

    def append_marker(
        self,
        producer_id: int,
        producer_epoch: int,
        coordinator_epoch: int,
        offset: int,
        timestamp: int,
    ) -> CompletedTransaction | None:
        """A marker was stored at `offset`; None when there was no transaction to end."""
        entry = self._entry(producer_id)
        first_offset = entry.current_txn_first_offset
        entry.set_epoch(producer_epoch)
        entry.coordinator_epoch = coordinator_epoch
        entry.last_timestamp = timestamp
        entry.current_txn_first_offset = NO_OFFSET
        if first_offset == NO_OFFSET:
            return None
        del self._ongoing[first_offset]
        self._unreplicated[first_offset] = offset
        last_stable_offset = next(iter(self._ongoing), offset + 1)
        return CompletedTransaction(producer_id, first_offset, offset, last_stable_offset)

    # --- transactions --------------------------------------------------------------------------

    def first_unstable_offset(self) -> int:
        """Where the oldest transaction began that is open, or whose marker is not replicated.

        -1 when there is none. Replicated means below the high watermark last told.
        """
        ongoing = next(iter(self._ongoing), NO_OFFSET)
        if not self._unreplicated:
            return ongoing
        unreplicated = min(self._unreplicated)
        return unreplicated if ongoing == NO_OFFSET else min(ongoing, unreplicated)

    def on_high_watermark_updated(self, high_watermark: int) -> None:
        """Markers below `high_watermark` are replicated now."""
        unreplicated = self._unreplicated
        for first_offset in [
            first for first, marker in unreplicated.items() if marker < high_watermark
        ]:
            del unreplicated[first_offset]

    def has_ongoing_transaction(self, producer_id: int, producer_epoch: int | None) -> bool:
        """Whether this producer has a transaction open here, in this epoch; None: in any."""
        entry = self.producers.get(producer_id)
        return (
            entry is not None
            and entry.current_txn_first_offset != NO_OFFSET
            and producer_epoch in (None, entry.producer_epoch)
        )

    # --- ageing ----------------------------------------------------------------------------------

    def remove_expired(self, now_wall_ms: int, expiration_ms: int) -> None:
        """Forget producers that wrote nothing for so long and have no transaction open."""
        expired = [
            producer_id
            for producer_id, entry in self.producers.items()
            if entry.current_txn_first_offset == NO_OFFSET
            and now_wall_ms - entry.last_timestamp >= expiration_ms
        ]
        for producer_id in expired:
            del self.producers[producer_id]

    def forget_those_ahead(self, later: ProducerStateManager) -> None:
        """Forget producers that have written on in `later`, and have no transaction open here.

        Their next sequence follows what they wrote there; of one that is not known any goes.
        """
        goes_on, written = later.last_records(), self.last_records()
        for producer_id, entry in [*self.producers.items()]:
            if entry.current_txn_first_offset == NO_OFFSET and (
                goes_on.get(producer_id, written[producer_id]) != written[producer_id]
            ):
                del self.producers[producer_id]

    def oldest_timestamp(self) -> int | None:
        """The last write of the producer that is silent the longest, of those that may expire."""
        return min(
            (
                entry.last_timestamp
                for entry in self.producers.values()
                if entry.current_txn_first_offset == NO_OFFSET
            ),
            default=None,
        )

    def last_records(self) -> dict[int, tuple[int, int]]:
        """By producer: its last data offset, -1 without one, and its epoch."""
        return {
            producer_id: (
                entry.batches[-1].last_offset if entry.batches else NO_OFFSET,
                entry.producer_epoch,
            )
            for producer_id, entry in self.producers.items()
        }

    def copy(self) -> ProducerStateManager:
        """The same producers, to change on their own."""
        made = ProducerStateManager()
        made.producers = {key: entry.copy() for key, entry in self.producers.items()}
        made._ongoing = dict(self._ongoing)
        made._unreplicated = dict(self._unreplicated)
        return made

    def clear(self) -> None:
        """Forget all, before the state is built again from the log."""
        self.producers.clear()
        self._ongoing.clear()
        self._unreplicated.clear()

    def _entry(self, producer_id: int) -> ProducerStateEntry:
        entry = self.producers.get(producer_id)
        if entry is None:
            entry = self.producers[producer_id] = ProducerStateEntry()
        return entry
