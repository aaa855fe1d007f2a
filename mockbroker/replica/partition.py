"""One partition as this node hosts it: its log, its leadership, and who wants to hear of it.

`ReplicaManager` makes partitions from the metadata; produce and the coordinators append, fetches
read `log` through `LogReader`. Whatever changes a log or its leadership goes through here, because
each change is told: the entries of fetch sessions that watch are marked, and, for the changes that
release parked requests, the partition is put on the manager's ready list.

Kafka's pokes are kept (fetch sees them in `ReplicaManager.drain`): appends, a high watermark that
moved, a leader lost, deletion. A log start that moved and a mere change of the leader epoch wake
nobody; they are told with the next answer.

Invariants: the log is made at its first append or position query; a deleted partition appends
nothing and is on no table; each watching entry is linked at most once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.config.log_config import DEFAULT_LOG_CONFIG
from mockbroker.journal import DATA, ERROR, HIGH_WATERMARK, LAST_STABLE_OFFSET
from mockbroker.log.results import AppendOrigin
from mockbroker.log.unified_log import UnifiedLog
from protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Hashable

    from mockbroker.log.results import AppendResult, Buffer
    from mockbroker.metadata.changes import PartitionState
    from mockbroker.replica.append_entry import AppendEntry, TransactionMarker
    from mockbroker.replica.fetch_entry import WatchingEntry
    from mockbroker.replica.manager import ReplicaManager

ACKS_ALL: Final = -1

EMPTY_LOG: Final = UnifiedLog()
"""What a read finds where there is no log yet. It knows no epochs, and nobody appends to it."""


class Partition:
    """A hosted partition (Kafka: Partition). Handlers read its slots, and change nothing."""

    __slots__ = (
        "_first_watcher",
        "_last_watcher",
        "_led_epoch",
        "_manager",
        "cause",
        "deleted",
        "epoch_start_offset",
        "index",
        "is_leader",
        "leader_epoch",
        "leader_id",
        "log",
        "ready",
        "state",
        "topic",
        "topic_id",
    )

    def __init__(
        self,
        manager: ReplicaManager,
        topic: str,
        topic_id: bytes,
        index: int,
        state: PartitionState,
    ) -> None:
        self._manager = manager
        self.topic = topic
        self.topic_id = topic_id
        self.index = index
        self.log: UnifiedLog | None = None
        self.deleted = False
        self.ready = False
        """Whether it is on the manager's ready list."""
        self.cause = DATA
        """Why it was put there last."""
        self._first_watcher: WatchingEntry | None = None
        self._last_watcher: WatchingEntry | None = None
        self.state = state
        self.leader_id = state.leader
        self.leader_epoch = state.leader_epoch
        self.is_leader = state.leader == manager.broker_id
        self._led_epoch = state.leader_epoch if self.is_leader else -1
        self.epoch_start_offset = 0
        """The log end when this node began to lead."""

    def __repr__(self) -> str:
        return f"Partition({self.topic}-{self.index})"

    # -- the log -----------------------------------------------------------------------------

    def open_log(self) -> UnifiedLog:
        """The log, made now if this is its first use."""
        log = self.log
        if log is None:
            topic = self._manager.metadata.topics.get(self.topic)
            log = UnifiedLog(
                self.topic,
                self.index,
                DEFAULT_LOG_CONFIG if topic is None else topic.config.log_config,
            )
            if self._led_epoch >= 0:
                log.assign_epoch(self._led_epoch)
            self.log = log
        return log

    @property
    def high_watermark(self) -> int:
        """Up to where consumers may read."""
        return 0 if self.log is None else self.log.high_watermark

    def append(
        self,
        entry: AppendEntry,
        required_acks: int = 1,
        origin: AppendOrigin = AppendOrigin.CLIENT,
    ) -> None:
        """Append what `entry` has as leader, records or a marker; fill in what became of it.

        Kafka: ReplicaManager.appendToLocalLog and Partition.appendRecordsToLeader.
        """
        if self.deleted:
            entry.error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        elif not self.is_leader:
            entry.error = ErrorCode.NOT_LEADER_OR_FOLLOWER
        elif required_acks == ACKS_ALL and self.is_under_min_isr():
            entry.error = ErrorCode.NOT_ENOUGH_REPLICAS
        elif entry.marker is None:
            entry.take(self.append_batch(entry.records, origin, entry.transaction_version))
        else:
            entry.take(self._append_marker(entry.marker))

    def append_batch(
        self, records: Buffer, origin: AppendOrigin, transaction_version: int = 0
    ) -> AppendResult:
        """Append the first batch in `records` as leader; wakes whom it concerns."""
        log = self.log or self.open_log()
        segments = log.segment_count
        result = log.append_as_leader(
            records,
            self.leader_epoch,
            self._manager.clock.wall_ms(),
            origin=origin,
            transaction_version=transaction_version,
        )
        if result.error is ErrorCode.NONE and not result.duplicate:
            self._appended(log, segments, result.base_offset, DATA)
        return result

    def _append_marker(self, marker: TransactionMarker) -> AppendResult:
        return self.append_end_of_transaction(
            marker.producer_id,
            marker.producer_epoch,
            marker.coordinator_epoch,
            commit=marker.commit,
            transaction_version=marker.transaction_version,
        )

    def append_end_of_transaction(
        self,
        producer_id: int,
        producer_epoch: int,
        coordinator_epoch: int,
        *,
        commit: bool,
        transaction_version: int = 0,
    ) -> AppendResult:
        """Write a transaction's marker as leader; wakes whom it concerns."""
        log = self.log or self.open_log()
        segments = log.segment_count
        result = log.append_end_of_transaction(
            producer_id,
            producer_epoch,
            coordinator_epoch,
            self.leader_epoch,
            self._manager.clock.wall_ms(),
            commit=commit,
            transaction_version=transaction_version,
        )
        if result.error is ErrorCode.NONE:
            self._appended(log, segments, result.base_offset, LAST_STABLE_OFFSET)
        return result

    def _appended(
        self, log: UnifiedLog, segments_before: int, base_offset: int, cause: str
    ) -> None:
        if segments_before and log.segment_count > segments_before:
            self._tell_rolled(log.offset_metadata(base_offset - 1).segment_base_offset)
        if log.wants_upkeep:
            self._manager.upkeep.look_at(self, log)
        self._advance_high_watermark(log)
        self._mark_watchers()
        self._manager.mark_ready(self, cause)

    def note_log_start(self) -> None:
        """Its oldest segments were deleted: sessions tell the new start, parked fetches wait on."""
        self._mark_watchers()

    def _advance_high_watermark(self, log: UnifiedLog) -> None:
        """Raise the high watermark to the smallest end offset in the in-sync set.

        That is the leader's own when it is alone there. Below min.insync.replicas it stands still.
        """
        if len(self.state.isr) <= 1 and not self.is_under_min_isr():
            log.advance_high_watermark(log.log_end_offset)

    def is_under_min_isr(self) -> bool:
        """Whether acks=-1 is refused: the in-sync set is below min.insync.replicas.

        That counts for no more than there are replicas.
        """
        state = self.state
        replicas = len(state.replicas)
        if replicas == 1:
            return not state.isr
        topic = self._manager.metadata.topics.get(self.topic)
        if topic is None:
            return False
        return len(state.isr) < min(topic.config.int("min.insync.replicas"), replicas)

    def delete_records_before(self, offset: int) -> ErrorCode:
        """Move the log start up to `offset` (-1: the high watermark). Parked fetches sleep on."""
        log = self.log or self.open_log()
        before = log.log_start_offset
        error = log.delete_records_before(offset)
        if log.log_start_offset != before:
            self._mark_watchers()
        return error

    # -- leadership and life -----------------------------------------------------------------

    def has_replica(self, replica_id: int) -> bool:
        """Whether that broker is one of its other replicas: nobody follows itself."""
        return replica_id != self._manager.broker_id and replica_id in self.state.replicas

    def change_state(self, state: PartitionState) -> None:
        """It has another leader, epoch or in-sync set. Losing the lead wakes those who wait."""
        was_leader = self.is_leader
        self.state = state
        new_epoch = state.leader_epoch != self.leader_epoch
        self.leader_id = state.leader
        self.leader_epoch = state.leader_epoch
        self.is_leader = state.leader == self._manager.broker_id
        if self.is_leader:
            self._led_epoch = state.leader_epoch
        log = self.log
        moved = False
        if self.is_leader and log is not None:
            if new_epoch or not was_leader:
                log.assign_epoch(state.leader_epoch)
                self.epoch_start_offset = log.log_end_offset
            before = log.high_watermark
            self._advance_high_watermark(log)
            moved = log.high_watermark != before
        self._mark_watchers()
        if moved or (was_leader and not self.is_leader):
            self._manager.mark_ready(self, HIGH_WATERMARK if moved else ERROR)

    def replace_log(self, log: UnifiedLog) -> None:
        """Another log takes the place of this one, under the leader epoch in force (a restore)."""
        if self._led_epoch >= 0:
            log.assign_epoch(self._led_epoch)
        self.epoch_start_offset = log.log_end_offset
        self.log = log
        self._mark_watchers()
        self._manager.mark_ready(self, ERROR)

    def reconfigure(self) -> None:
        """Its topic's configs may have changed."""
        topic = self._manager.metadata.topics.get(self.topic)
        log = self.log
        if topic is not None and log is not None and log.config is not topic.config.log_config:
            log.config = topic.config.log_config
            self._manager.upkeep.look_at(self, log)

    def delete(self) -> None:
        """It is gone from this node, and so is its log; whoever waits on it is answered."""
        self.deleted = True
        self.log = None
        self._manager.upkeep.forget(self)
        self._mark_watchers()
        self._manager.mark_ready(self, ERROR)

    # -- who watches -----------------------------------------------------------------------

    def watch(self, entry: WatchingEntry) -> None:
        """Tell `entry` of each change from now on; nothing happens when it is told already."""
        if entry.linked:
            return
        entry.linked = True
        last = self._last_watcher
        entry.previous_watcher = last
        if last is None:
            self._first_watcher = entry
        else:
            last.next_watcher = entry
        self._last_watcher = entry

    def unwatch(self, entry: WatchingEntry) -> None:
        """Tell `entry` no more."""
        if not entry.linked:
            return
        before, after = entry.previous_watcher, entry.next_watcher
        if before is None:
            self._first_watcher = after
        else:
            before.next_watcher = after
        if after is None:
            self._last_watcher = before
        else:
            after.previous_watcher = before
        entry.linked = False
        entry.previous_watcher = entry.next_watcher = None

    @property
    def is_watched(self) -> bool:
        """Whether any entry is told of changes."""
        return self._first_watcher is not None

    def wait_keys(self) -> list[Hashable]:
        """Where fetches wait that watch this partition through an entry, each once."""
        keys: dict[Hashable, None] = {}
        watcher = self._first_watcher
        while watcher is not None:
            key = watcher.wait_key()
            if key is not None:
                keys[key] = None
            watcher = watcher.next_watcher
        return list(keys)

    def _mark_watchers(self) -> None:
        watcher = self._first_watcher
        while watcher is not None:
            watcher.mark()
            watcher = watcher.next_watcher

    def _tell_rolled(self, left_segment: int) -> None:
        watcher = self._first_watcher
        while watcher is not None:
            watcher.mark_rolled(left_segment)
            watcher = watcher.next_watcher
