"""The coordinator's half of a transaction's end: a marker to every partition, then the record.

`service` calls `send` when the decision is replicated, be it of a request or a time-out, or when it
is found in a log that was loaded (Kafka: TransactionMarkerChannelManager and its completion
handler). What can succeed later is tried again, for ever; a partition that is no more needs no
marker.

| answer of the leader      | what follows                                       |
|---------------------------|----------------------------------------------------|
| 0                         | the partition is done                              |
| 3, 6, 7, 19, 20, 56       | again after a while, at whoever leads it then      |
| 47, 52                    | given up: somebody newer has ended the transaction |

An answer counts while the transaction that it is about is being ended here. One of a coordinator
that this node was before, or that gave up, is not believed: the partitions may be those of another
transaction by then.

Invariants: a transaction is on its way once at most; each of its partitions without a marker is in
one request, or waits for its next one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from mockbroker.coordinator.txn.metadata import complete
from mockbroker.coordinator.txn.states import PREPARED, TransactionState
from mockbroker.metadata.names import TRANSACTION_STATE_TOPIC
from mockbroker.replica.append_entry import TransactionMarker
from mockbroker_protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mockbroker.clock import Clock, Timer
    from mockbroker.coordinator.txn.marker_writer import WritesMarkers
    from mockbroker.coordinator.txn.metadata import TopicPartition, TransactionMetadata
    from mockbroker.coordinator.txn.shard import TransactionShard
    from mockbroker.metadata.store import MetadataStore

AT_ONCE: Final = 100
"""Partitions of a transaction that are asked for their markers in one step."""
RETRY_BACKOFF_MS: Final = 100
"""Kafka's sender asks again at once; nothing changes here within a step."""

_GIVE_UP = frozenset({ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED})


class _PendingCompletion(NamedTuple):
    """A prepared transaction on its way (Kafka: PendingCompleteTxn); compared by identity."""

    shard: TransactionShard
    metadata: TransactionMetadata


@dataclass(slots=True, eq=False)
class TransactionMarkers:
    """What still has to get its markers, by transactional id."""

    _clock: Clock
    _timer: Timer
    _metadata: MetadataStore
    _writer: WritesMarkers
    _pending: dict[str, _PendingCompletion] = field(default_factory=dict)

    def __len__(self) -> int:
        """Transactions that wait for a marker or for their last record."""
        return len(self._pending)

    def send(self, shard: TransactionShard, metadata: TransactionMetadata) -> None:
        """End what is prepared; done within the step when a few partitions are led here."""
        assert metadata.state in PREPARED
        assert metadata.transactional_id not in self._pending
        pending = self._pending[metadata.transactional_id] = _PendingCompletion(shard, metadata)
        self._send(pending, list(metadata.partitions))

    def forget(self, shard: TransactionShard) -> None:
        """The shard moved away: its new owner goes on."""
        for transactional_id, pending in list(self._pending.items()):
            if pending.shard is shard:
                del self._pending[transactional_id]

    def _is_current(self, pending: _PendingCompletion) -> bool:
        return self._pending.get(pending.metadata.transactional_id) is pending

    def _send(self, pending: _PendingCompletion, partitions: Sequence[TopicPartition]) -> None:
        """Ask for the markers of these partitions, of which some may be gone by now.

        The first few of many: the others follow as soon as others had their turn.
        """
        metadata = pending.metadata
        if len(partitions) > AT_ONCE:
            # Due at once, also where time stands still: timers round up to the millisecond.
            self._send_at(int(self._clock.now_ms), pending, partitions[AT_ONCE:])
        wanted = []
        for partition in partitions[:AT_ONCE]:
            if self._exists(partition):
                wanted.append(partition)
            else:
                metadata.remove_partition(partition)
        if wanted:
            marker = TransactionMarker(
                metadata.producer_id,
                metadata.producer_epoch,
                self._coordinator_epoch(pending.shard.partition_index),
                metadata.state is TransactionState.PREPARE_COMMIT,
                metadata.client_transaction_version,
            )
            self._writer.write(marker, wanted, lambda errors: self._answered(pending, errors))
        elif not metadata.partitions:
            self._write_completion(pending)

    def _answered(
        self, pending: _PendingCompletion, errors: dict[TopicPartition, ErrorCode]
    ) -> None:
        """One leader has answered (TransactionMarkerRequestCompletionHandler)."""
        if not self._is_current(pending):
            return
        metadata = pending.metadata
        again = []
        for partition, error in errors.items():
            if error is ErrorCode.NONE:
                metadata.remove_partition(partition)
            else:
                again.append(partition)
        if any(error in _GIVE_UP for error in errors.values()):
            del self._pending[metadata.transactional_id]
        elif again:
            self._send_later(pending, again)
        elif not metadata.partitions:
            self._write_completion(pending)

    def _write_completion(self, pending: _PendingCompletion) -> None:
        metadata = pending.metadata

        def written(error: ErrorCode) -> None:
            if not self._is_current(pending):
                return
            if error is ErrorCode.NONE:
                del self._pending[metadata.transactional_id]
            else:
                self._send_later(pending, ())

        pending.shard.write(metadata, complete(metadata, self._clock.wall_ms()), written)

    def _send_later(
        self, pending: _PendingCompletion, partitions: Sequence[TopicPartition]
    ) -> None:
        self._send_at(self._clock.now_ms + RETRY_BACKOFF_MS, pending, partitions)

    def _send_at(
        self, time_ms: float, pending: _PendingCompletion, partitions: Sequence[TopicPartition]
    ) -> None:
        def due() -> None:
            if self._is_current(pending):
                self._send(pending, partitions)

        self._timer.schedule(time_ms, due)

    def _exists(self, partition: TopicPartition) -> bool:
        topic = self._metadata.topics.get(partition[0])
        return topic is not None and partition[1] < len(topic.partitions)

    def _coordinator_epoch(self, partition_index: int) -> int:
        """The epoch of whoever leads the shard's partition (Kafka: coordinatorEpoch)."""
        topic = self._metadata.topics.get(TRANSACTION_STATE_TOPIC)
        return 0 if topic is None else topic.partitions[partition_index].leader_epoch
