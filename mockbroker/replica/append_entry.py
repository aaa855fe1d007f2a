"""One partition of a produce: what to append, then what became of it.

`apis.produce` makes entries of records, `coordinator.txn` of a transaction's marker;
`ReplicaManager.append_records` fills them in. `coordinator.log_port` appends its own at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.log.results import NO_RECORD_ERRORS, AppendOrigin
from mockbroker.replica.partition import ACKS_ALL
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.named_tuple import NamedTuple

if TYPE_CHECKING:
    from mockbroker.log.results import AppendResult, Buffer
    from mockbroker.log.validator import InspectedBatch
    from mockbroker.replica.partition import Partition


_NONE: Final = ErrorCode.NONE


class TransactionMarker(NamedTuple):
    """The end of a producer's transaction, as a coordinator writes it (Kafka: TxnMarkerEntry).

    `transaction_version` 2 says that the epoch is higher than that of the data (KIP-890).
    """

    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    commit: bool
    transaction_version: int


class AppendEntry:
    """What goes to one partition. An `error` set beforehand is kept, and nothing is appended.

    `partition` is None when it is not hosted here. With a `marker` that is written, else
    `records`; `transaction_version` is what their producer speaks. Afterwards `error` and the
    fields below it are those of the answer; an error found while waiting for replicas leaves
    `base_offset` in place.
    """

    __slots__ = (
        "base_offset",
        "error",
        "error_message",
        "index",
        "last_offset",
        "log_append_time_ms",
        "log_start_offset",
        "marker",
        "partition",
        "record_errors",
        "records",
        "transaction_version",
    )

    def __init__(
        self,
        index: int,
        partition: Partition | None,
        records: Buffer,
        error: ErrorCode = _NONE,
        marker: TransactionMarker | None = None,
    ) -> None:
        self.index = index
        self.partition = partition
        self.records: Buffer | InspectedBatch = records
        self.error = error
        self.marker = marker
        self.transaction_version = 0
        self.error_message: str | None = None
        self.base_offset = -1
        self.last_offset = -1
        self.log_append_time_ms = -1
        self.log_start_offset = -1
        self.record_errors = NO_RECORD_ERRORS

    def append_to(
        self,
        partition: Partition,
        required_acks: int = 1,
        origin: AppendOrigin = AppendOrigin.CLIENT,
    ) -> None:
        """Append it as the partition's leader, and fill in what became of it.

        3 the partition is deleted, 6 another broker leads, 19 acks are -1 and the in-sync set is
        too small (Kafka: ReplicaManager.appendToLocalLog, Partition.appendRecordsToLeader).
        """
        marker = self.marker
        if partition.deleted:
            self.error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        elif not partition.is_leader:
            self.error = ErrorCode.NOT_LEADER_OR_FOLLOWER
        elif required_acks == ACKS_ALL and partition.is_under_min_isr():
            self.error = ErrorCode.NOT_ENOUGH_REPLICAS
        elif marker is None:
            self.take(partition.append_batch(self.records, origin, self.transaction_version))
        else:
            self.take(
                partition.append_end_of_transaction(
                    marker.producer_id,
                    marker.producer_epoch,
                    marker.coordinator_epoch,
                    commit=marker.commit,
                    transaction_version=marker.transaction_version,
                )
            )

    def take(self, result: AppendResult) -> None:
        """What the log answered."""
        self.error = result.error
        self.error_message = result.error_message
        self.record_errors = result.record_errors
        self.base_offset = result.base_offset
        self.last_offset = result.last_offset
        self.log_append_time_ms = result.log_append_time_ms
        self.log_start_offset = result.log_start_offset

    def is_done(self) -> bool:
        """Whether it has its answer, be it an error (Partition.checkEnoughReplicasReachOffset)."""
        partition = self.partition
        if partition is None:
            return True
        if partition.deleted:
            self.error = partition.error_when_gone()
        elif not partition.is_leader:
            self.error = ErrorCode.NOT_LEADER_OR_FOLLOWER
        elif partition.high_watermark <= self.last_offset:
            return False
        elif partition.is_under_min_isr():
            self.error = ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
        return True
