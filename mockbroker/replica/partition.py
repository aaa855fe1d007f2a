"""One partition as this node hosts it: its log, its leadership and its followers.

`ReplicaManager` makes partitions from the metadata; produce and the coordinators append, fetches
read `log` through `LogReader`. Whatever changes a log or its leadership goes through here, because
each change is told: the readers of fetch sessions that watch it are marked, and, for the changes
that may complete parked requests, the partition is put on the ready list of its host.

Those are the changes after which Kafka completes delayed operations: appends, a high watermark
that moved, a leader lost, deletion. A log start that moved and a mere change of the leader epoch
wake nobody; they are told with the next answer.

A leader with followers keeps what it knows of them in `followers` (see `in_sync`); a follower's
fetcher appends through `append_as_follower` and cuts through `truncate_to`.

Invariants: the log is made at its first append or position query; a deleted partition appends
nothing and is on no table.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from mockbroker.journal import DATA, ERROR, HIGH_WATERMARK, LAST_STABLE_OFFSET, HighWatermarkMoved
from mockbroker.log.results import AppendOrigin
from mockbroker.metadata.brokers import UNKNOWN_EPOCH, is_stale
from mockbroker.purgatory.purgatory import Purgatory
from mockbroker.replica.appended import tell_appended
from mockbroker.replica.hosted_log import HostedLog
from mockbroker.replica.kept_logs import KeptLogs
from mockbroker.replica.log_memory import LogMemory
from mockbroker.replica.log_upkeep import LogUpkeep
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.records.batch import read_batch_header

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker.clock import Clock, Timer
    from mockbroker.config.broker import BrokerConfig
    from mockbroker.journal import Journal
    from mockbroker.log.results import AppendResult, Buffer
    from mockbroker.log.unified_log import UnifiedLog
    from mockbroker.log.validator import InspectedBatch
    from mockbroker.metadata.changes import PartitionState
    from mockbroker.metadata.store import MetadataStore
    from mockbroker.replica.hosted_log import PartitionReader
    from mockbroker.replica.in_sync import Follower, Followers

ACKS_ALL: Final = -1
_NONE: Final = ErrorCode.NONE
_FOREVER_MS: Final = float("inf")


class PartitionHost:
    """What the partitions of one node share, and tell it: the lower half of `ReplicaManager`."""

    __slots__ = (
        "_under_replicated",
        "broker_id",
        "clock",
        "config",
        "delete_records_purgatory",
        "gave_back",
        "held_high_watermarks",
        "journal",
        "kept_logs",
        "log_memory",
        "metadata",
        "propose_isr",
        "ready",
        "upkeep",
    )

    def __init__(
        self,
        broker_id: int,
        clock: Clock,
        timer: Timer,
        config: BrokerConfig,
        metadata: MetadataStore,
    ) -> None:
        self.broker_id = broker_id
        self.clock = clock
        self.config = config
        self.metadata = metadata
        self.upkeep = LogUpkeep(clock, timer, config)
        self.delete_records_purgatory = Purgatory(
            timer, config.int("delete.records.purgatory.purge.interval.requests")
        )
        self.ready: deque[Partition] = deque()
        """What `ReplicaManager.drain` has to look at."""
        self._under_replicated: dict[Partition, None] = {}
        """What is led here and has replicas out of the in-sync set."""
        self.kept_logs = KeptLogs()
        """What open scopes need of the logs here; a node gives its own."""
        self.held_high_watermarks: dict[Partition, None] = {}
        """Whose high watermark stands still."""
        self.journal: Journal | None = None
        self.propose_isr: Callable[[Partition, list[int]], None] | None = None
        """Asks the controller for an in-sync set; None where there are no followers."""
        self.gave_back: Callable[[int], None] | None = None
        """Told by a shell to be told how many bytes of logs were deleted."""
        limit_bytes = config.int("mockbroker.memory.limit.bytes")
        self.log_memory = LogMemory(limit_bytes, self) if limit_bytes else None

    def mark_ready(self, partition: Partition, cause: str) -> None:
        """Something happened to the partition that parked operations may wait for.

        `cause` is one of the journal's reasons; of several in one step the last counts.
        """
        partition.cause = cause
        if not partition.ready:
            partition.ready = True
            self.ready.append(partition)

    def selects_by_rack(self) -> bool:
        """Whether consumers are sent to a replica in their rack (KIP-392)."""
        selector = self.config.text("replica.selector.class") or ""
        return selector.rpartition(".")[2] == "RackAwareReplicaSelector"

    def max_lag_ms(self) -> int:
        """How long a follower may lag and be in sync."""
        return self.config.int("replica.lag.time.max.ms")

    @property
    def awaits_deletion(self) -> bool:
        """Whether a DeleteRecords waits for followers."""
        return self.delete_records_purgatory.num_delayed_operations > 0

    def tell_high_watermark(
        self, journal: Journal, partition: Partition, log: UnifiedLog, before: int, by: int | None
    ) -> None:
        """The high watermark moved, from `before` to where the log has it; `by` a follower."""
        end, now = log.log_end_offset, log.high_watermark
        moved = HighWatermarkMoved(
            self.broker_id, partition.topic, partition.index, before, now, end, by
        )
        journal.record_high_watermark(moved)

    def hold_high_watermark(self, partition: Partition) -> None:
        """Let a partition's high watermark stand still."""
        partition.high_watermark_held = True
        self.held_high_watermarks[partition] = None

    def release_high_watermark(self, partition: Partition) -> None:
        """Let it go where it belongs."""
        partition.high_watermark_held = False
        self.held_high_watermarks.pop(partition, None)
        partition.raise_high_watermark()

    def note_in_sync(self, partition: Partition) -> None:
        """Its leader, replicas or in-sync set changed."""
        state = partition.state
        if (
            partition.followers is not None
            and not partition.deleted
            and len(state.isr) < len(state.replicas)
        ):
            self._under_replicated[partition] = None
        else:
            self._under_replicated.pop(partition, None)


class Partition(HostedLog[PartitionHost]):
    """A hosted partition (Kafka: Partition). Handlers read its slots, and change nothing."""

    __slots__ = (
        "bytes_in",
        "bytes_out",
        "deleted",
        "epoch_start_offset",
        "followers",
        "high_watermark_held",
        "high_watermark_listener",
        "is_leader",
        "leader_epoch",
        "leader_id",
        "messages_in",
        "messages_out",
        "state",
    )

    def __init__(
        self,
        host: PartitionHost,
        topic: str,
        topic_id: bytes,
        index: int,
        state: PartitionState,
    ) -> None:
        super().__init__(host, topic, topic_id, index)
        self.deleted = False
        self.messages_in = 0
        self.bytes_in = 0
        """What clients appended here (Kafka: MessagesInPerSec, BytesInPerSec of a topic)."""
        self.messages_out = 0
        """Offsets that answers to consumers covered, from the asked one to the last whole batch."""
        self.bytes_out = 0
        """Bytes of batches in them (Kafka: BytesOutPerSec of a topic)."""
        self.state = state
        self.leader_id = state.leader
        self.leader_epoch = state.leader_epoch
        self.is_leader = state.leader == host.broker_id
        self._led_epoch = state.leader_epoch if self.is_leader else -1
        self.epoch_start_offset = 0
        """The log end when this node began to lead."""
        self.high_watermark_held = False
        """Whether the high watermark stands still, by an operator's wish."""
        self.high_watermark_listener: Callable[[Partition], None] | None = None
        """Told when the step drains that the high watermark may have moved: a coordinator that
        leads here (Kafka: PartitionListener.onHighWatermarkUpdated)."""
        self.followers: Followers | None = None
        """What is known of the other replicas; None when there are none, or others lead."""
        if self.is_leader and len(state.replicas) > 1:
            self._follow_followers(state, anew=True)

    def __repr__(self) -> str:
        return f"Partition({self.topic}-{self.index})"

    # -- the log -----------------------------------------------------------------------------

    def append_batch(
        self,
        records: Buffer | InspectedBatch,
        origin: AppendOrigin,
        transaction_version: int = 0,
    ) -> AppendResult:
        """Append the first batch in `records` as leader (Kafka: Partition.appendRecordsToLeader).

        The caller has checked that this node leads. What waits for records is marked ready.
        """
        memory = self._host.log_memory
        refused = None if memory is None else memory.make_room(self, len(records), origin)
        if refused is not None:
            return refused
        log = self.writable_log or self.log_to_write()
        segments = log.segment_count
        result = log.append_as_leader(
            records,
            self.leader_epoch,
            self._host.clock.wall_ms(),
            origin=origin,
            transaction_version=transaction_version,
        )
        if result.error is _NONE and not result.duplicate:
            self.messages_in += log.log_end_offset - result.base_offset
            self.bytes_in += len(records)
            self._appended(log, segments, result.base_offset, DATA)
        return result

    def append_end_of_transaction(
        self,
        producer_id: int,
        producer_epoch: int,
        coordinator_epoch: int,
        *,
        commit: bool,
        transaction_version: int = 0,
    ) -> AppendResult:
        """Write the marker that ends a transaction as leader; what waits for it is marked ready."""
        log = self.writable_log or self.log_to_write()
        segments = log.segment_count
        result = log.append_end_of_transaction(
            producer_id,
            producer_epoch,
            coordinator_epoch,
            self.leader_epoch,
            self._host.clock.wall_ms(),
            commit=commit,
            transaction_version=transaction_version,
        )
        if result.error is _NONE:
            self._appended(log, segments, result.base_offset, LAST_STABLE_OFFSET)
        return result

    def _appended(self, log: UnifiedLog, segments: int, base_offset: int, cause: str) -> None:
        if segments and log.wants_upkeep and log.segment_count > segments:
            self.mark_rolled(log.offset_metadata(base_offset - 1).segment_base_offset)
        if self.followers is not None:
            self.followers.leader_appended(base_offset)
        if log.wants_upkeep:
            self._host.upkeep.look_at(self, log)
        if self._host.log_memory is not None:
            self._host.log_memory.note(self)
        journal = self._host.journal
        if journal is not None and journal.wants_appends:
            tell_appended(journal, self._host.broker_id, self, log, base_offset)
        self._advance_high_watermark(log)
        self.mark_watchers()
        self._host.mark_ready(self, cause)

    def _advance_high_watermark(self, log: UnifiedLog, by: int | None = None) -> None:
        """Raise the high watermark to the smallest end offset in the in-sync set.

        That is the leader's own when it is alone there. Below min.insync.replicas it stands still
        (KIP-966; Kafka: Partition.maybeIncrementLeaderHW).
        """
        if self.high_watermark_held or self.is_under_min_isr():
            return
        end = log.log_end_offset
        followers = self.followers
        if followers is not None:
            host = self._host
            end = followers.high_watermark(end, host.clock.now_ms, host.max_lag_ms())
        before = log.high_watermark
        if log.advance_high_watermark(end):
            journal = self._host.journal
            if journal is not None and journal.wants_high_watermarks:
                self._host.tell_high_watermark(journal, self, log, before, by)

    # -- replication ---------------------------------------------------------------------------

    def follower_fetched(
        self,
        replica_id: int,
        reader: PartitionReader,
        leader_end_offset: int,
        broker_epoch: int = UNKNOWN_EPOCH,
    ) -> bool:
        """A follower fetched from the reader's offset, so it has all before it.

        That may raise the high watermark (True) and bring the follower back in sync (Kafka:
        Partition.updateFollowerFetchState).
        """
        followers = self.followers
        follower = None if followers is None else followers.get(replica_id)
        if followers is None or follower is None:
            return False
        host = self._host
        end_before = follower.log_end_offset
        start_before = follower.log_start_offset
        follower.fetched(reader, leader_end_offset, host.clock.now_ms, broker_epoch)
        if replica_id not in self.state.isr:
            self._maybe_expand_isr(followers, follower)
        if follower.log_start_offset > start_before and host.awaits_deletion:
            # No fetch waits for that; what else happened in this step is what they are told.
            host.mark_ready(self, self.cause if self.ready else HIGH_WATERMARK)
        return follower.log_end_offset != end_before and self.raise_high_watermark(replica_id)

    def follower_polled(self, replica_id: int) -> None:
        """A follower fetched in a session, perhaps without being met here: it may be in sync again.

        Told only while some replica is out of the in-sync set.
        """
        followers = self.followers
        if followers is None:
            return
        follower = followers.caught_up_idle(
            replica_id, 0 if self.log is None else self.log.log_end_offset
        )
        if follower is not None:
            self._maybe_expand_isr(followers, follower)

    def preferred_read_replica(self, rack: str, offset: int) -> int:
        """Who should serve a consumer in `rack` from `offset`; -1: this leader (KIP-392)."""
        followers = self.followers
        if followers is None or not self._host.selects_by_rack():
            return -1
        return followers.preferred_replica(rack, offset)

    def raise_high_watermark(self, by: int | None = None) -> bool:
        """Advance the high watermark as far as the in-sync set has come; True if it moved."""
        log = self.log
        if log is None or not self.is_leader:
            return False
        before = log.high_watermark
        self._advance_high_watermark(self.writable_log or self.log_to_write(), by)
        if log.high_watermark == before:
            return False
        self.mark_watchers()
        self._host.mark_ready(self, HIGH_WATERMARK)
        return True

    def expand_in_sync(self) -> None:
        """Propose a follower that caught up while it could not join (Kafka: maybeExpandIsr)."""
        followers = self.followers
        if followers is None or len(self.state.isr) == len(self.state.replicas):
            return
        host = self._host
        caught_up_since_ms = host.clock.now_ms - host.max_lag_ms()
        for follower in followers.all():
            if follower.caught_up_ms >= caught_up_since_ms and self._maybe_expand_isr(
                followers, follower
            ):
                return

    def _maybe_expand_isr(self, followers: Followers, follower: Follower) -> bool:
        """Propose the in-sync set with this follower, if it may join; whether it may."""
        isr = followers.expansion(follower, self.high_watermark, self.epoch_start_offset)
        if isr is None:
            return False
        self._propose(followers, isr)
        return True

    def shrink_in_sync(self) -> None:
        """Propose an in-sync set without the followers that lag (Kafka: maybeShrinkIsr)."""
        followers = self.followers
        if followers is None:
            return
        host = self._host
        end = 0 if self.log is None else self.log.log_end_offset
        isr = followers.shrinkage(end, host.clock.now_ms, host.max_lag_ms())
        if isr is not None:
            self._propose(followers, isr)

    @property
    def is_in_step(self) -> bool:
        """Whether its in-sync followers stay so however late it is, if nothing is appended."""
        followers = self.followers
        end = 0 if self.log is None else self.log.log_end_offset
        return followers is None or (
            followers.proposed is None and followers.shrinkage(end, _FOREVER_MS, 0.0) is None
        )

    def _propose(self, followers: Followers, isr: list[int]) -> None:
        propose = self._host.propose_isr
        if propose is not None:
            followers.proposed = isr
            propose(self, isr)

    def append_as_follower(
        self, records: Buffer, leader_high_watermark: int, leader_log_start: int
    ) -> ErrorCode:
        """Append what the leader answered, and take over its high watermark and log start.

        An error of the log leaves all as it was (Kafka: ReplicaFetcherThread.processPartitionData).
        """
        memory = self._host.log_memory
        if memory is not None:
            memory.make_room(self, len(records), AppendOrigin.REPLICATION)
        log = self.writable_log or self.log_to_write()
        if len(records):
            segments = log.segment_count
            now_wall_ms = self._host.clock.wall_ms()
            result = log.append_as_follower(records, now_wall_ms)
            if result.error is ErrorCode.OFFSET_OUT_OF_RANGE and log.is_displaced_by(
                records, leader_log_start
            ):
                log.truncate_to(read_batch_header(records).base_offset)
                result = log.append_as_follower(records, now_wall_ms)
            if result.error is not _NONE:
                return result.error
            if segments and log.segment_count > segments:
                before = log.offset_metadata(result.base_offset - 1)
                self.mark_rolled(before.segment_base_offset)
            if log.wants_upkeep:
                self._host.upkeep.look_at(self, log)
        known = log.high_watermark
        moved = log.set_high_watermark(leader_high_watermark)
        journal = self._host.journal
        if moved and journal is not None and journal.wants_high_watermarks:
            self._host.tell_high_watermark(journal, self, log, known, None)
        if leader_log_start > log.log_start_offset:
            log.advance_log_start(min(leader_log_start, log.high_watermark))
            self.note_deletion()
        self.note_size()
        self.mark_watchers()
        if moved:
            self._host.mark_ready(self, HIGH_WATERMARK)
        return _NONE

    def truncate_to(self, offset: int) -> None:
        """Drop what the leader does not have."""
        if self.log is not None and self.log_to_write().truncate_to(offset):
            self.note_size()
            self.mark_watchers()
            self._host.mark_ready(self, HIGH_WATERMARK)

    def adopt(self, log: UnifiedLog) -> None:
        """Go on with the log that this node had before it went down."""
        self._take(log)
        self.reconfigure()

    def restart_at(self, offset: int) -> None:
        """Drop everything: the leader's log begins behind the end of this one."""
        self.log_to_write().truncate_fully_and_start_at(offset)
        self.note_size()
        self.mark_watchers()
        self._host.mark_ready(self, HIGH_WATERMARK)

    def is_under_min_isr(self) -> bool:
        """Whether acks=-1 is refused: the in-sync set is below min.insync.replicas.

        That counts for no more than there are replicas.
        """
        state = self.state
        replicas = len(state.replicas)
        if replicas == 1:
            return not state.isr
        topic = self._host.metadata.topics.get(self.topic)
        if topic is None:
            return False
        return len(state.isr) < min(topic.config.int("min.insync.replicas"), replicas)

    def low_watermark(self) -> int:
        """Where the logs of all live replicas have begun (Partition.lowWatermarkIfLeader)."""
        start = self.open_log().log_start_offset
        return start if self.followers is None else self.followers.low_watermark(start)

    def delete_records_before(self, offset: int) -> ErrorCode:
        """Move the log start up to `offset` (-1: the high watermark). Parked fetches sleep on."""
        log = self.writable_log or self.log_to_write()
        before, size = log.log_start_offset, log.size_bytes
        error = log.delete_records_before(offset)
        if log.log_start_offset != before:
            self.mark_watchers()
            self.tell_given_back(size)
        return error

    # -- leadership and life -----------------------------------------------------------------

    def has_replica(self, replica_id: int) -> bool:
        """Whether that broker is one of its other replicas: nobody follows itself."""
        return replica_id != self._host.broker_id and replica_id in self.state.replicas

    def knows_newer(self, replica_id: int, broker_epoch: int) -> bool:
        """Whether that broker has registered anew since the epoch that it tells (-1: none)."""
        return is_stale(self._host.metadata.brokers.get(replica_id), broker_epoch)

    def change_state(self, state: PartitionState) -> None:
        """It has another leader, epoch or in-sync set (Kafka: Partition.makeLeader, makeFollower).

        A leader lost completes the requests that wait on it, with an error.
        """
        was_leader = self.is_leader
        self.state = state
        new_epoch = state.leader_epoch != self.leader_epoch
        self.leader_id = state.leader
        self.leader_epoch = state.leader_epoch
        self.is_leader = state.leader == self._host.broker_id
        if self.is_leader:
            self._led_epoch = state.leader_epoch
        self._follow_followers(state, anew=new_epoch or not was_leader)
        log = self.log
        moved = False
        if self.is_leader and log is not None:
            log = self.log_to_write()
            if new_epoch or not was_leader:
                log.assign_epoch(state.leader_epoch)
                self.epoch_start_offset = log.log_end_offset
            before = log.high_watermark
            self._advance_high_watermark(log)
            moved = log.high_watermark != before
        self.mark_watchers()
        if moved or (was_leader and not self.is_leader):
            self._host.mark_ready(self, HIGH_WATERMARK if moved else ERROR)

    def replace_log(self, log: UnifiedLog) -> None:
        """Another log takes its place (a restore); a leader's epoch begins at its end."""
        if self.is_leader:
            log.assign_epoch(self.leader_epoch)
        self.epoch_start_offset = log.log_end_offset
        self._take(log)
        self._host.upkeep.look_at(self, log)
        self.mark_watchers()
        self._host.mark_ready(self, ERROR)

    def _follow_followers(self, state: PartitionState, *, anew: bool) -> None:
        if not self.is_leader or len(state.replicas) <= 1:
            self.followers = None
        elif anew or self.followers is None:
            from mockbroker.replica.in_sync import Followers

            host = self._host
            self.followers = Followers(host.broker_id, state, host.metadata, host.clock.now_ms)
        else:
            self.followers.update(state)
            self.expand_in_sync()
        self._host.note_in_sync(self)

    def reconfigure(self) -> None:
        """Its topic's configs may have changed."""
        topic = self._host.metadata.topics.get(self.topic)
        log = self.log
        if topic is not None and log is not None and log.config is not topic.config.log_config:
            log.config = topic.config.log_config
            self._host.upkeep.look_at(self, log)

    def delete(self) -> None:
        """It is gone from this node, and so is its log; whoever waits on it is answered."""
        self.deleted = True
        size = 0 if self.log is None else self.log.size_bytes
        self._take(None)
        self.tell_given_back(size)
        self._host.held_high_watermarks.pop(self, None)
        self._host.upkeep.forget(self)
        self._host.note_in_sync(self)
        self.mark_watchers()
        self._host.mark_ready(self, ERROR)

    def error_when_gone(self) -> ErrorCode:
        """Why it is not here any more: 3 its topic is deleted, 6 its replica was reassigned away.

        Kafka: ReplicaManager.getPartitionOrError.
        """
        if self.topic_id in self._host.metadata.topics_by_id:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
