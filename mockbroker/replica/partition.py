"""One partition as this node hosts it: its log, its leadership, and who wants to hear of it.

`ReplicaManager` makes partitions from the metadata; produce and the coordinators append, fetches
read `log` through `LogReader`. Whatever changes a log or its leadership goes through here, because
each change is told: the entries of fetch sessions that watch are marked, and, for the changes that
release parked requests, the partition is put on the manager's ready list.

Kafka's pokes are kept (fetch sees them in `ReplicaManager.drain`): appends, a high watermark that
moved, a leader lost, deletion. A log start that moved and a mere change of the leader epoch wake
nobody; they are told with the next answer.

A leader with followers keeps what it knows of them in `followers` (see `in_sync`); a follower's
fetcher appends through `append_as_follower` and cuts through `truncate_to`.

Invariants: the log is made at its first append or position query; a deleted partition appends
nothing and is on no table; each watching entry is linked at most once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.config.log_config import DEFAULT_LOG_CONFIG
from mockbroker.journal import DATA, ERROR, HIGH_WATERMARK, LAST_STABLE_OFFSET, HighWatermarkMoved
from mockbroker.log.results import AppendOrigin
from mockbroker.log.unified_log import UnifiedLog
from mockbroker_protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Hashable

    from mockbroker.journal import Journal
    from mockbroker.log.results import AppendResult, Buffer
    from mockbroker.metadata.changes import PartitionState
    from mockbroker.replica.append_entry import AppendEntry, TransactionMarker
    from mockbroker.replica.fetch_entry import FetchEntry, WatchingEntry
    from mockbroker.replica.in_sync import Followers
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
        "followers",
        "high_watermark_held",
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
        self.high_watermark_held = False
        """Whether the high watermark stands still, by an operator's wish."""
        self.followers: Followers | None = None
        """What is known of the other replicas; None when there are none, or others lead."""
        if self.is_leader and len(state.replicas) > 1:
            self.followers = self._new_followers(state)
            manager.note_in_sync(self)

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
        if self.followers is not None:
            self.followers.outrun(base_offset)
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
        if self.high_watermark_held or self.is_under_min_isr():
            return
        end = log.log_end_offset
        followers = self.followers
        if followers is not None:
            manager = self._manager
            end = followers.high_watermark(end, manager.clock.now_ms, manager.max_lag_ms())
        before = log.high_watermark
        if log.advance_high_watermark(end):
            journal = self._manager.journal
            if journal is not None and journal.wants_high_watermarks:
                self._tell_high_watermark(journal, log, before)

    def _tell_high_watermark(self, journal: Journal, log: UnifiedLog, before: int) -> None:
        journal.record_high_watermark(
            HighWatermarkMoved(
                self._manager.broker_id,
                self.topic,
                self.index,
                before,
                log.high_watermark,
                log.log_end_offset,
            )
        )

    def _new_followers(self, state: PartitionState) -> Followers:
        from mockbroker.replica.in_sync import Followers

        manager = self._manager
        return Followers(manager.broker_id, state, manager.metadata, manager.clock.now_ms)

    # -- replication ---------------------------------------------------------------------------

    def follower_fetched(self, replica_id: int, entry: FetchEntry, leader_end_offset: int) -> bool:
        """A follower asks for the entry's offset, so it has all before it.

        That may raise the high watermark (True) and bring the follower back in sync (Kafka:
        Partition.updateFollowerFetchState).
        """
        followers = self.followers
        follower = None if followers is None else followers.get(replica_id)
        if followers is None or follower is None:
            return False
        manager = self._manager
        end_before = follower.log_end_offset
        start_before = follower.log_start_offset
        follower.fetched(entry, leader_end_offset, manager.clock.now_ms)
        if replica_id not in self.state.isr:
            isr = followers.expansion(follower, self.high_watermark, self.epoch_start_offset)
            if isr is not None:
                self._propose(followers, isr)
        if follower.log_start_offset > start_before and manager.awaits_deletion:
            # No fetch waits for that; what else happened in this step is what they are told.
            manager.mark_ready(self, self.cause if self.ready else HIGH_WATERMARK)
        return follower.log_end_offset != end_before and self.raise_high_watermark()

    def follower_polled(self, replica_id: int) -> None:
        """A follower fetched in a session, perhaps without being met here: it may be in sync again.

        Told only while some replica is out of the in-sync set.
        """
        followers = self.followers
        if followers is None:
            return
        follower = followers.idled(replica_id, 0 if self.log is None else self.log.log_end_offset)
        if follower is not None:
            isr = followers.expansion(follower, self.high_watermark, self.epoch_start_offset)
            if isr is not None:
                self._propose(followers, isr)

    def preferred_read_replica(self, rack: str, offset: int) -> int:
        """Who should serve a consumer in `rack` from `offset`; -1: this leader (KIP-392)."""
        followers = self.followers
        if followers is None or not self._manager.selects_by_rack():
            return -1
        return followers.nearest(rack, offset)

    def raise_high_watermark(self) -> bool:
        """Let the high watermark go where it may; wakes whom it concerns. True if it moved."""
        log = self.log
        if log is None or not self.is_leader:
            return False
        before = log.high_watermark
        self._advance_high_watermark(log)
        if log.high_watermark == before:
            return False
        self._mark_watchers()
        self._manager.mark_ready(self, HIGH_WATERMARK)
        return True

    def expand_in_sync(self) -> None:
        """Propose to take in a follower that has caught up while it could not be."""
        followers = self.followers
        if followers is None or len(self.state.isr) == len(self.state.replicas):
            return
        manager = self._manager
        caught_up_since_ms = manager.clock.now_ms - manager.max_lag_ms()
        for follower in followers.all():
            if follower.caught_up_ms < caught_up_since_ms:
                continue
            isr = followers.expansion(follower, self.high_watermark, self.epoch_start_offset)
            if isr is not None:
                self._propose(followers, isr)
                return

    def shrink_in_sync(self) -> None:
        """Propose an in-sync set without those that lag."""
        followers = self.followers
        if followers is None:
            return
        manager = self._manager
        end = 0 if self.log is None else self.log.log_end_offset
        isr = followers.shrinkage(end, manager.clock.now_ms, manager.max_lag_ms())
        if isr is not None:
            self._propose(followers, isr)

    def _propose(self, followers: Followers, isr: list[int]) -> None:
        propose = self._manager.propose_isr
        if propose is not None:
            followers.proposed = isr
            propose(self, isr)

    def append_as_follower(
        self, records: Buffer, leader_high_watermark: int, leader_log_start: int
    ) -> ErrorCode:
        """Take over what the leader gave; wakes whom it concerns (processPartitionData)."""
        log = self.log or self.open_log()
        if len(records):
            segments = log.segment_count
            result = log.append_as_follower(records, self._manager.clock.wall_ms())
            if result.error is not ErrorCode.NONE:
                return result.error
            if segments and log.segment_count > segments:
                before = log.offset_metadata(result.base_offset - 1)
                self._tell_rolled(before.segment_base_offset)
        known = log.high_watermark
        moved = log.set_high_watermark(leader_high_watermark)
        journal = self._manager.journal
        if moved and journal is not None and journal.wants_high_watermarks:
            self._tell_high_watermark(journal, log, known)
        if leader_log_start > log.log_start_offset:
            log.advance_log_start(min(leader_log_start, log.high_watermark))
        self._mark_watchers()
        if moved:
            self._manager.mark_ready(self, HIGH_WATERMARK)
        return ErrorCode.NONE

    def truncate_to(self, offset: int) -> None:
        """Drop what the leader does not have."""
        log = self.log
        if log is not None and log.truncate_to(offset):
            self._mark_watchers()
            self._manager.mark_ready(self, HIGH_WATERMARK)

    def adopt(self, log: UnifiedLog) -> None:
        """Go on with the log that this node had before it went down."""
        self.log = log
        self.reconfigure()

    def restart_at(self, offset: int) -> None:
        """Drop everything: the leader's log begins behind the end of this one."""
        (self.log or self.open_log()).truncate_fully_and_start_at(offset)
        self._mark_watchers()
        self._manager.mark_ready(self, HIGH_WATERMARK)

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

    def low_watermark(self) -> int:
        """Where the logs of all live replicas have begun (Partition.lowWatermarkIfLeader)."""
        start = self.open_log().log_start_offset
        return start if self.followers is None else self.followers.low_watermark(start)

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

    def knows_newer(self, replica_id: int, broker_epoch: int) -> bool:
        """Whether that broker has registered anew since the epoch that it tells (-1: none)."""
        broker = self._manager.metadata.brokers.get(replica_id)
        return broker is not None and 0 <= broker_epoch < broker.epoch

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
        self._follow_followers(state, anew=new_epoch or not was_leader)
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

    def _follow_followers(self, state: PartitionState, *, anew: bool) -> None:
        if not self.is_leader or len(state.replicas) <= 1:
            self.followers = None
        elif anew or self.followers is None:
            self.followers = self._new_followers(state)
        else:
            self.followers.take(state)
            self.expand_in_sync()
        self._manager.note_in_sync(self)

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
        self._manager.note_in_sync(self)
        self._mark_watchers()
        self._manager.mark_ready(self, ERROR)

    def error_when_gone(self) -> ErrorCode:
        """Why it is not here any more: 3 its topic is deleted, 6 its replica was reassigned away.

        Kafka: ReplicaManager.getPartitionOrError.
        """
        if self.topic_id in self._manager.metadata.topics_by_id:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

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
