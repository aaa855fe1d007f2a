"""The partitions of one node, and the requests that wait on them.

Partitions come and go with the metadata, to which this room subscribes. Handlers and coordinators
append through `append_records` or `Partition.append`; what an append makes ready is only noted, and
`drain` completes it at the end of the step, after the answers of the step itself.

Invariants: `partition()` gives exactly the partitions of the metadata that have a replica here; a
partition is on the ready list at most once; each parked operation completes at most once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.metadata.brokers import UNKNOWN_EPOCH
from mockbroker.metadata.changes import (
    BrokerChanged,
    ConfigsChanged,
    LeaderChanged,
    PartitionsAdded,
    TopicCreated,
    TopicDeleted,
)
from mockbroker.metadata.store import RESOURCE_BROKER, RESOURCE_TOPIC
from mockbroker.purgatory.purgatory import Purgatory
from mockbroker.replica.delayed_entries import DelayedEntries
from mockbroker.replica.log_dirs import LogDirs
from mockbroker.replica.partition import ACKS_ALL, Partition, PartitionHost
from mockbroker_protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from mockbroker.clock import Clock, Timer
    from mockbroker.config.broker import BrokerConfig
    from mockbroker.metadata.changes import Change, PartitionState
    from mockbroker.metadata.store import MetadataStore
    from mockbroker.replica.append_entry import AppendEntry
    from mockbroker.replica.delayed_delete_records import DeletedEntry
    from mockbroker.replica.fetch_entry import FetchEntry
    from mockbroker_protocol.messages.fetch import FetchResponsePartition

VALID_ACKS: Final = (-1, 0, 1)
NO_LEADER_EPOCH: Final = -1
MANY_PARKED = 64
"""Fetches that one append may wake in the turn of who appended; more are woken in later turns."""


class ReplicaManager(PartitionHost):
    """Kafka: ReplicaManager. What is parked is in a purgatory for each kind of request."""

    __slots__ = (
        "_partitions",
        "draining",
        "fetch_purgatory",
        "follower_fetches_expired",
        "log_dirs",
        "on_role",
        "produce_purgatory",
        "puts_off",
        "waking",
    )

    def __init__(
        self,
        broker_id: int,
        clock: Clock,
        timer: Timer,
        config: BrokerConfig,
        metadata: MetadataStore,
    ) -> None:
        super().__init__(broker_id, clock, timer, config, metadata)
        self.fetch_purgatory = Purgatory(
            timer, config.int("fetch.purgatory.purge.interval.requests")
        )
        self.produce_purgatory = Purgatory(
            timer, config.int("producer.purgatory.purge.interval.requests")
        )
        self.log_dirs = LogDirs(config, self)
        self._partitions: dict[str, dict[int, Partition]] = {}
        self.waking: Iterator[None] | None = None
        """What `drain` had to leave at the end of a turn."""
        self.puts_off = False
        """Whether that is for another turn, because so many are to be woken."""
        self.draining: str | None = None
        """While `drain` completes what a partition released: what had happened to it."""
        self.follower_fetches_expired = 0
        self.on_role: Callable[[Partition], None] | None = None
        """Told of each partition that came, changed or went, where there are other nodes."""
        for topic in metadata.topics.values():
            self._host(topic.name, topic.id, 0, topic.partitions)
        metadata.subscribe(self._on_change)

    # -- partitions ------------------------------------------------------------------------

    def partition(self, topic: str, index: int) -> Partition | None:
        """The partition as hosted here; None when this node has no replica of it."""
        partitions = self._partitions.get(topic)
        return None if partitions is None else partitions.get(index)

    def readable_partition(
        self, topic: str, index: int, current_leader_epoch: int, *, only_leader: bool
    ) -> Partition | ErrorCode:
        """The partition for a look-up by a client that knows this leader epoch (-1: none).

        3 unknown, 6 not here or not led here, 74 and 75 an epoch that is not ours (Kafka:
        getPartitionOrException, Partition.localLogWithEpochOrThrow).
        """
        partition = self.partition(topic, index)
        if partition is None:
            known = self.metadata.topics.get(topic)
            if known is None or not 0 <= index < len(known.partitions):
                return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        if current_leader_epoch not in (NO_LEADER_EPOCH, partition.leader_epoch):
            if current_leader_epoch < partition.leader_epoch:
                return ErrorCode.FENCED_LEADER_EPOCH
            return ErrorCode.UNKNOWN_LEADER_EPOCH
        if only_leader and not partition.is_leader:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return partition

    def partitions_of(self, topic: str) -> Sequence[Partition]:
        """The partitions of a topic that are hosted here."""
        return list(self._partitions.get(topic, {}).values())

    def all_partitions(self) -> list[Partition]:
        """All that are hosted here, topic by topic."""
        return [each for hosted in self._partitions.values() for each in hosted.values()]

    def _on_change(self, change: Change) -> None:
        if isinstance(change, TopicCreated):
            self._host(change.name, change.topic_id, 0, change.partitions)
        elif isinstance(change, PartitionsAdded):
            self._host(change.name, change.topic_id, change.first_index, change.partitions)
        elif isinstance(change, TopicDeleted):
            for partition in self._partitions.pop(change.name, {}).values():
                partition.delete()
                self._tell_role(partition)
        elif isinstance(change, LeaderChanged):
            self._change_leader(change)
        elif isinstance(change, ConfigsChanged):
            self._reconfigure(change)
        elif isinstance(change, BrokerChanged):
            for partition in self.led_partitions() if self.propose_isr else ():
                partition.expand_in_sync()
                partition.raise_high_watermark()

    def _host(
        self, name: str, topic_id: bytes, first_index: int, states: Sequence[PartitionState]
    ) -> None:
        hosted = self._partitions.setdefault(name, {})
        for index, state in enumerate(states, first_index):
            if self.broker_id in state.replicas:
                hosted[index] = Partition(self, name, topic_id, index, state)
                self._tell_role(hosted[index])

    def _tell_role(self, partition: Partition) -> None:
        if self.on_role is not None:
            self.on_role(partition)

    def _change_leader(self, change: LeaderChanged) -> None:
        hosted = self._partitions.setdefault(change.name, {})
        partition = hosted.get(change.index)
        if self.broker_id in change.state.replicas:
            if partition is None:
                partition = hosted[change.index] = Partition(
                    self, change.name, change.topic_id, change.index, change.state
                )
            else:
                partition.change_state(change.state)
            self._tell_role(partition)
        elif partition is not None:
            del hosted[change.index]
            partition.delete()
            self._tell_role(partition)

    def _reconfigure(self, change: ConfigsChanged) -> None:
        """A topic's configs are its own, a broker's are what topics inherit."""
        if change.resource_type == RESOURCE_TOPIC:
            for partition in self._partitions.get(change.name, {}).values():
                partition.reconfigure()
        elif change.resource_type == RESOURCE_BROKER:
            for partition in self.all_partitions():
                partition.reconfigure()

    # -- replication -----------------------------------------------------------------------

    def follower_fetched(
        self,
        replica_id: int,
        read: Iterable[tuple[FetchEntry, FetchResponsePartition]],
        broker_epoch: int = UNKNOWN_EPOCH,
    ) -> bool:
        """A follower's fetch was read: what it has tells how far it is (updateFollowerFetchState).

        Called once a fetch, before it is parked; an error or a divergence tells nothing. True if
        that moved a high watermark.
        """
        moved = False
        for entry, data in read:
            partition = entry.partition
            if partition is None or data.error_code or data.diverging_epoch is not None:
                continue
            log = partition.log
            end = 0 if log is None else log.log_end_offset
            if partition.follower_fetched(replica_id, entry, end, broker_epoch):
                moved = True
        if self._under_replicated:
            for partition in list(self._under_replicated):
                partition.follower_polled(replica_id)
        return moved

    def may_rejoin(self, replica_id: int) -> bool:
        """Whether fetches of this follower that bring nothing may bring it back in sync."""
        for partition in self._under_replicated:
            followers, log = partition.followers, partition.log
            end = 0 if log is None else log.log_end_offset
            if followers is not None and followers.may_expand_idle(replica_id, end):
                return True
        return False

    def led_partitions(self) -> list[Partition]:
        """The partitions that are led here and have followers."""
        return [
            partition
            for partitions in self._partitions.values()
            for partition in partitions.values()
            if partition.followers is not None
        ]

    # -- appends ---------------------------------------------------------------------------

    def append_records(
        self,
        timeout_ms: float,
        required_acks: int,
        entries: Sequence[AppendEntry],
        on_complete: Callable[[], None],
    ) -> DelayedEntries | None:
        """Append each entry and fill in what became of it; `on_complete` is called once.

        That is now, unless acks are -1 and other replicas must follow: then the operation is
        returned, to be cancelled if its client goes.
        """
        pending = self.append_each(required_acks, entries)
        return self.when_replicated(timeout_ms, pending, on_complete)

    def append_each(self, required_acks: int, entries: Iterable[AppendEntry]) -> list[AppendEntry]:
        """Append each entry and fill in what became of it; those that other replicas must have."""
        acks_known = required_acks in VALID_ACKS
        pending: list[AppendEntry] = []
        for entry in entries:
            if entry.error:
                continue
            partition = entry.partition
            if not acks_known:
                entry.error = ErrorCode.INVALID_REQUIRED_ACKS
            elif partition is None:
                entry.error = ErrorCode.NOT_LEADER_OR_FOLLOWER
            else:
                entry.append_to(partition, required_acks)
                if (
                    required_acks == ACKS_ALL
                    and not entry.error
                    and partition.high_watermark <= entry.last_offset
                ):
                    pending.append(entry)
        return pending

    def when_replicated(
        self, timeout_ms: float, pending: Sequence[AppendEntry], on_complete: Callable[[], None]
    ) -> DelayedEntries | None:
        """The rest of `append_records`, when each entry was appended."""
        if not pending:
            on_complete()
            return None
        delayed = DelayedEntries(self.clock.now_ms + timeout_ms, pending, on_complete)
        self.produce_purgatory.watch(delayed, [entry.partition for entry in pending])
        return delayed

    def when_deleted(
        self, timeout_ms: float, entries: list[DeletedEntry], on_complete: Callable[[], None]
    ) -> DelayedEntries | None:
        """None if all live replicas have moved their log starts.

        Else `on_complete()` is called later, unless what is returned is cancelled.
        """
        pending = [entry for entry in entries if not entry.is_done()]
        if not pending:
            return None
        delayed = DelayedEntries(self.clock.now_ms + timeout_ms, pending, on_complete)
        keys = [entry.partition for entry in pending]
        completed = self.delete_records_purgatory.try_complete_else_watch(delayed, keys)
        assert not completed
        return delayed

    # -- what appends release --------------------------------------------------------------

    @property
    def has_ready(self) -> bool:
        """Whether `drain` has something to do."""
        return bool(self.ready or self.waking)

    def drain(self, turn_over: Callable[[], bool] | None = None) -> None:
        """Complete what the ready partitions release, in the order in which they became ready.

        While many are parked that ends with the turn, and before many of one partition are woken:
        who appended has its answer first. The next call goes on there.
        """
        ready, fetches = self.ready, self.fetch_purgatory
        produces, deletions = self.produce_purgatory, self.delete_records_purgatory
        if turn_over is not None and (
            self.waking is not None or fetches.num_delayed_operations > MANY_PARKED
        ):
            self._drain_in_turns(turn_over)
            return
        while ready:
            partition = ready.popleft()
            partition.ready = False
            self.draining = partition.cause
            if partition.high_watermark_listener is not None:
                partition.high_watermark_listener(partition)
            if produces.purgatory_size:
                produces.check_and_complete(partition)
            if fetches.purgatory_size:
                fetches.check_and_complete(partition)
                for key in partition.wait_keys():
                    fetches.check_and_complete(key)
            if deletions.purgatory_size:
                deletions.check_and_complete(partition)
        self.draining = None

    def _drain_in_turns(self, turn_over: Callable[[], bool]) -> None:
        self.puts_off = False
        while self.waking is not None or self.ready:
            if self.waking is None:
                partition = self.ready.popleft()
                partition.ready = False
                self.waking = self._wake(partition, partition.cause)
                parked = self.fetch_purgatory.watched(partition)
                if parked + len(partition.wait_keys()) > MANY_PARKED:
                    self.puts_off = True
                    break
            for _ in self.waking:
                if turn_over():
                    self.draining = None
                    return
            self.waking = None
        self.draining = None

    def _wake(self, partition: Partition, cause: str) -> Iterator[None]:
        """As `drain` does for one partition; yields after each few operations that it tried."""
        self.draining = cause
        if partition.high_watermark_listener is not None:
            partition.high_watermark_listener(partition)
        for purgatory, keys in (
            (self.produce_purgatory, (partition,)),
            (self.fetch_purgatory, (partition, *partition.wait_keys())),
            (self.delete_records_purgatory, (partition,)),
        ):
            for key in keys:
                for _ in purgatory.check_in_slices(key):
                    yield
                    self.draining = cause

    def note_follower_expired(self) -> None:
        """A follower's parked fetch ended at its deadline."""
        self.follower_fetches_expired += 1

    def release_parked(self) -> None:
        """Answer every parked operation with what there is (a clean shutdown)."""
        for partitions in self._partitions.values():
            for partition in partitions.values():
                for purgatory in (
                    self.produce_purgatory,
                    self.fetch_purgatory,
                    self.delete_records_purgatory,
                ):
                    for key in (partition, *partition.wait_keys()):
                        for operation in purgatory.cancel_for_key(key):
                            operation.force_complete()
