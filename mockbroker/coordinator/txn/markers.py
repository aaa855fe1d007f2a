"""The coordinator's half of a transaction's end: a marker to every partition, then the record.

`service` calls `send` when a transaction is prepared, in a request, at a time-out or after its
shard was loaded (Kafka: TransactionMarkerChannelManager and its completion handler). What can
succeed later is tried again; a partition that is no more needs no marker.

| answer of the leader      | what follows                                       |
|---------------------------|----------------------------------------------------|
| 0                         | the partition is done                              |
| 3, 6, 7, 19, 20, 56       | again after a while                                |
| 47, 52                    | given up: somebody newer has ended the transaction |

Invariant: at most one attempt a transaction is under way or scheduled.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from mockbroker.coordinator.txn.metadata import complete
from mockbroker.coordinator.txn.states import PREPARED, TransactionState
from mockbroker.metadata.names import TRANSACTION_STATE_TOPIC
from mockbroker.replica.append_entry import TransactionMarker
from mockbroker_protocol.errors import ErrorCode

if TYPE_CHECKING:
    from mockbroker.clock import Clock, Timer, TimerTask
    from mockbroker.coordinator.txn.marker_writer import WritesMarkers
    from mockbroker.coordinator.txn.metadata import TopicPartition, TransactionMetadata
    from mockbroker.coordinator.txn.shard import TransactionShard
    from mockbroker.metadata.store import MetadataStore

RETRY_BACKOFF_MS: Final = 100
"""Kafka's sender asks again at once; nothing changes here within a step."""

_GIVE_UP = frozenset({ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED})


@dataclass(slots=True, eq=False)
class _Attempt:
    """A prepared transaction on its way; `task` is its next try."""

    shard: TransactionShard
    metadata: TransactionMetadata
    task: TimerTask | None = None


@dataclass(slots=True, eq=False)
class TransactionMarkers:
    """What still has to get its markers."""

    _clock: Clock
    _timer: Timer
    _metadata: MetadataStore
    _writer: WritesMarkers
    _attempts: dict[str, _Attempt] = field(default_factory=dict)

    def __len__(self) -> int:
        """Transactions that wait for a marker or for their last record."""
        return len(self._attempts)

    def send(self, shard: TransactionShard, metadata: TransactionMetadata) -> None:
        """End what is prepared; done within the step when all partitions are led here."""
        assert metadata.state in PREPARED
        attempt = self._attempts[metadata.transactional_id] = _Attempt(shard, metadata)
        self._try(attempt)

    def forget(self, shard: TransactionShard) -> None:
        """The shard moved away: its new owner goes on."""
        for transactional_id, attempt in list(self._attempts.items()):
            if attempt.shard is shard:
                self._drop(transactional_id, attempt)

    def _drop(self, transactional_id: str, attempt: _Attempt) -> None:
        if attempt.task is not None:
            attempt.task.cancel()
        del self._attempts[transactional_id]

    def _try(self, attempt: _Attempt) -> None:
        metadata = attempt.metadata
        attempt.task = None
        for partition in list(metadata.partitions):
            if not self._exists(partition):
                metadata.remove_partition(partition)
        if not metadata.partitions:
            self._write_completion(attempt)
            return
        marker = TransactionMarker(
            metadata.producer_id,
            metadata.producer_epoch,
            self._coordinator_epoch(attempt.shard.partition_index),
            metadata.state is TransactionState.PREPARE_COMMIT,
            metadata.client_transaction_version,
        )
        self._writer.write(
            marker, list(metadata.partitions), lambda errors: self._answered(attempt, errors)
        )

    def _answered(self, attempt: _Attempt, errors: dict[TopicPartition, ErrorCode]) -> None:
        transactional_id = attempt.metadata.transactional_id
        if self._attempts.get(transactional_id) is not attempt:
            return
        for partition, error in errors.items():
            if error is ErrorCode.NONE:
                attempt.metadata.remove_partition(partition)
        if any(error in _GIVE_UP for error in errors.values()):
            self._drop(transactional_id, attempt)
        elif attempt.metadata.partitions:
            self._again(attempt)
        else:
            self._write_completion(attempt)

    def _write_completion(self, attempt: _Attempt) -> None:
        metadata = attempt.metadata
        transactional_id = metadata.transactional_id

        def written(error: ErrorCode) -> None:
            if error is ErrorCode.NONE:
                del self._attempts[transactional_id]
            elif error is ErrorCode.COORDINATOR_NOT_AVAILABLE:
                self._again(attempt)
            else:
                self._drop(transactional_id, attempt)

        attempt.shard.write(transactional_id, complete(metadata, self._clock.wall_ms()), written)

    def _again(self, attempt: _Attempt) -> None:
        attempt.task = self._timer.schedule(
            self._clock.now_ms + RETRY_BACKOFF_MS, lambda: self._try(attempt)
        )

    def _exists(self, partition: TopicPartition) -> bool:
        topic = self._metadata.topics.get(partition[0])
        return topic is not None and partition[1] < len(topic.partitions)

    def _coordinator_epoch(self, partition_index: int) -> int:
        """The epoch of whoever leads the shard's partition (Kafka: coordinatorEpoch)."""
        topic = self._metadata.topics.get(TRANSACTION_STATE_TOPIC)
        return 0 if topic is None else topic.partitions[partition_index].leader_epoch
