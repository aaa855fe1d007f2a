"""One pass of a fetch over partitions: reads each, and spends the fetch's budget (KIP-74).

A fetch context calls `read` for its partitions in order. The pass keeps what is left of max_bytes,
whether the first batch must be given even if it is too large, and whether what it met calls for an
answer at once (Kafka: ReplicaManager.readFromLog).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.log.offsets import FetchIsolation
from mockbroker.replica.delayed_fetch import bytes_available
from mockbroker.replica.fetch_params import UNKNOWN_HIGH_WATERMARK
from mockbroker.replica.hosted_log import EMPTY_LOG
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchResponsePartition,
)
from mockbroker_protocol.schema import ZERO_UUID

if TYPE_CHECKING:
    from mockbroker.log.unified_log import UnifiedLog
    from mockbroker.replica.fetch_entry import FetchEntry
    from mockbroker.replica.fetch_params import FetchParams
    from mockbroker.replica.partition import Partition

_HIGH_WATERMARK: Final = FetchIsolation.HIGH_WATERMARK
_LOG_END: Final = FetchIsolation.LOG_END
_NO_TOPIC_ID: Final = ZERO_UUID
_NONE: Final = ErrorCode.NONE


class LogReader:
    """The state of one pass.

    `respond_now`: an error, a divergence, a preferred replica, or a reader that knows less than our
    high watermark. `leader_errors`: some partition answered 6 or 74. A negative budget is Kafka's
    quirk: the first partition fails if it has data, and for the others nothing is left.
    """

    __slots__ = (
        "_checks_reader",
        "budget",
        "bytes_read",
        "fetched",
        "last_size_bytes",
        "leader_errors",
        "min_one",
        "params",
        "respond_now",
    )

    told_by_marks = True
    """Whether what is `available` changes only when the partition tells its readers so."""

    def __init__(self, params: FetchParams) -> None:
        self.params = params
        # A follower must be one; a consumer that tells its rack may be better served elsewhere.
        self._checks_reader = params.is_from_follower or (
            params.rack_id != "" and not params.only_leader
        )
        self.budget = params.max_bytes
        self.min_one = True
        self.bytes_read = 0
        self.fetched: list[tuple[Partition, int, int]] | None = None
        """Where a consumer was given bytes, how many offsets they cover, and how many they are."""
        self.last_size_bytes = 0
        self.respond_now = False
        self.leader_errors = False

    def available(self, entry: FetchEntry, params: FetchParams, parked_segment: int | None) -> int:
        """What a partition adds to a parked fetch that was read like this (see `delayed_fetch`)."""
        return bytes_available(entry, params, parked_segment)

    def read(self, entry: FetchEntry) -> FetchResponsePartition:
        """What the fetch tells of this partition; its size is in `last_size_bytes`."""
        self.last_size_bytes = 0
        partition = entry.partition
        if partition is None:
            return self._error(entry, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        if (
            partition.deleted
            or self._checks_reader
            or not partition.is_leader
            or entry.current_leader_epoch >= 0
            or entry.topic.topic_id is not _NO_TOPIC_ID
        ):
            error = self._check(entry, partition)
            if error is not _NONE:
                return self._error(entry, error)
            if self._checks_reader and not self.params.is_from_follower:
                elsewhere = self._preferred_replica(entry, partition)
                if elsewhere is not None:
                    return elsewhere
        log = partition.log
        if log is None:
            log = EMPTY_LOG if entry.last_fetched_epoch < 0 else partition.open_log()
        high_watermark = log.high_watermark
        offset = entry.fetch_offset
        isolation = self.params.isolation
        if entry.high_watermark < high_watermark:
            self.respond_now = True  # KIP-1166
        if entry.last_fetched_epoch >= 0:
            diverged = self._divergence(entry, log)
            if diverged is not None:
                return diverged
        if (
            offset == high_watermark
            if isolation is _HIGH_WATERMARK
            else offset == log.log_end_offset and isolation is _LOG_END
        ):
            # At the bound: most reads of a quiet broker.
            if self.budget < 0:  # noqa: PLR1730 - read per partition; a call costs more
                self.budget = 0
            return FetchResponsePartition(
                entry.index,
                0,
                high_watermark,
                log.last_stable_offset,
                log.log_start_offset,
                None,
                -1,
                b"",
            )
        return self._read_log(entry, partition, log, offset, isolation)

    def _read_log(
        self,
        entry: FetchEntry,
        partition: Partition,
        log: UnifiedLog,
        offset: int,
        isolation: FetchIsolation,
    ) -> FetchResponsePartition:
        limit = entry.max_bytes
        if limit > self.budget:  # noqa: PLR1730 - read per partition; a call costs more
            limit = self.budget
        found = log.read(offset, limit, isolation, self.min_one)
        if found.error is not _NONE:
            return self._error(entry, found.error)
        aborted: list[AbortedTransaction] | None = None
        if found.aborted is not None:
            aborted = [
                AbortedTransaction(transaction.producer_id, transaction.first_offset)
                for transaction in found.aborted
            ]
        size = found.size_bytes
        if size:
            self.last_size_bytes = size
            self.bytes_read += size
            self.min_one = False
            self.budget -= size
            if self.fetched is not None:
                self.fetched.append((partition, found.next_offset - offset, size))
            elif not self.params.is_from_follower:
                self.fetched = [(partition, found.next_offset - offset, size)]
            if entry.high_watermark != UNKNOWN_HIGH_WATERMARK:
                self.respond_now = True  # KIP-1166: such a reader waits only while nothing comes
        if self.budget < 0:  # noqa: PLR1730 - read per partition; a call costs more
            self.budget = 0
        return FetchResponsePartition(
            entry.index,
            0,
            log.high_watermark,
            log.last_stable_offset,
            log.log_start_offset,
            aborted,
            -1,
            found.chunks if size else b"",
        )

    def _check(self, entry: FetchEntry, partition: Partition) -> ErrorCode:
        """What keeps this reader from this partition (the order is Kafka's)."""
        if partition.deleted:
            return partition.error_when_gone()
        topic_id = entry.topic.topic_id
        if topic_id not in (partition.topic_id, _NO_TOPIC_ID):
            return ErrorCode.INCONSISTENT_TOPIC_ID
        epoch = entry.current_leader_epoch
        if epoch >= 0 and epoch != partition.leader_epoch:
            if epoch < partition.leader_epoch:
                return ErrorCode.FENCED_LEADER_EPOCH
            return ErrorCode.UNKNOWN_LEADER_EPOCH
        params = self.params
        if params.only_leader and not partition.is_leader:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        if params.is_from_follower and partition.knows_newer(
            params.replica_id, params.replica_epoch
        ):
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        if params.is_from_follower and not partition.has_replica(params.replica_id):
            if epoch >= 0:
                return ErrorCode.UNKNOWN_LEADER_EPOCH
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return _NONE

    def _divergence(self, entry: FetchEntry, log: UnifiedLog) -> FetchResponsePartition | None:
        """Where the reader's log leaves ours, or the error when that cannot be said (KIP-595)."""
        end = log.end_offset_for_epoch(entry.last_fetched_epoch)
        if end is None or entry.fetch_offset < log.log_start_offset:
            return self._error(entry, ErrorCode.OFFSET_OUT_OF_RANGE)
        epoch, end_offset = end
        if epoch >= entry.last_fetched_epoch and end_offset >= entry.fetch_offset:
            return None
        return self._redirect(entry, log, -1, EpochEndOffset(epoch, end_offset))

    def _preferred_replica(
        self, entry: FetchEntry, partition: Partition
    ) -> FetchResponsePartition | None:
        """The replica that this consumer should read from, if it is another one (KIP-392)."""
        if not partition.is_leader:
            return None
        preferred = partition.preferred_read_replica(self.params.rack_id, entry.fetch_offset)
        if preferred < 0:
            return None
        return self._redirect(entry, partition.log or EMPTY_LOG, preferred, None)

    def _redirect(
        self, entry: FetchEntry, log: UnifiedLog, preferred: int, diverging: EpochEndOffset | None
    ) -> FetchResponsePartition:
        """No records, but where to fetch them: at another replica, or from an earlier offset."""
        self.respond_now = True
        self.budget = max(self.budget, 0)
        return FetchResponsePartition(
            entry.index,
            0,
            log.high_watermark,
            log.last_stable_offset,
            log.log_start_offset,
            None,
            preferred,
            b"",
            diverging,
        )

    def _error(self, entry: FetchEntry, error: ErrorCode) -> FetchResponsePartition:
        self.respond_now = True
        self.budget = max(self.budget, 0)
        if error in (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH):
            self.leader_errors = True
        return FetchResponsePartition(entry.index, error, -1, -1, -1, None, -1, b"")
