"""The coordinator of individual commits, beside that of groups.

Its topic has as many partitions as `__consumer_offsets`, on the same brokers, and a group has its
ranges where it has its offsets. A commit changes both topics; it is answered when the in-sync
replicas have both records. What only one of them has after a crash is read so that nothing that was
answered is forgotten:

- a range that went into the stable offset loses its record only when the stable offset is
  replicated, and does not count from when it is written;
- a range that went into another loses its record in the batch that has the other's.

What takes ranges away besides commits of ranges: plain commits and resets, and all that deletes a
group's offsets; `write` sees them on their way to the log (`Companion`).
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from mockbroker.coop import ic_records
from mockbroker.coop.deliverable import Deliverable
from mockbroker.coop.errors import Refusal
from mockbroker.coop.ic_shard import CommittedRanges, IndividualCommitShard
from mockbroker.coop.individual_commit import NOTHING_COMMITTED, Standing
from mockbroker.coop.numbers import DraftError
from mockbroker.coordinator.deferred_writes import ignore_error
from mockbroker.coordinator.group.offset_store import offset_commit_record
from mockbroker.coordinator.group.states import GroupState
from mockbroker.coordinator.log_port import InternalLog
from mockbroker.coordinator.runtime import CoordinatorRuntime, InternalTopic
from mockbroker.metadata.changes import TopicDeleted
from mockbroker.metadata.names import GROUP_METADATA_TOPIC, INDIVIDUAL_COMMITS_TOPIC
from mockbroker.metadata.topic_requests import NewTopic
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.coordinator_records import OffsetCommitKey, OffsetCommitValue
from mockbroker_protocol.primitives import ZERO_UUID

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mockbroker.apis.context import Services
    from mockbroker.coop.interval_set import OffsetRange
    from mockbroker.coordinator.group.shard import GroupShard
    from mockbroker.coordinator.records import CoordinatorRecord
    from mockbroker.metadata.changes import Change
    from mockbroker.replica.append_entry import TransactionMarker

NOT_ALLOWED = Refusal(ErrorCode.INVALID_REQUEST, DraftError.INDIVIDUAL_COMMIT_NOT_ALLOWED)
_NOT_HERE = Refusal(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
_NO_TOPIC = Refusal(ErrorCode.COORDINATOR_NOT_AVAILABLE)


class Place(NamedTuple):
    """A group in a partition; `topic_id` is zero where it is not known."""

    group: str
    topic: str
    partition: int
    topic_id: bytes = ZERO_UUID


class IndividualCommits:
    """Ranges of all groups that this node coordinates."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._topic = InternalTopic(
            INDIVIDUAL_COMMITS_TOPIC,
            services.metadata,
            services.config.int("offsets.topic.num.partitions"),
        )
        self._log = InternalLog(INDIVIDUAL_COMMITS_TOPIC, services.replicas, services.clock)
        self.runtime: CoordinatorRuntime[IndividualCommitShard] = CoordinatorRuntime(
            self._topic,
            self._log.append,
            IndividualCommitShard,
            needs_topic=True,
            encode=ic_records.encode,
            decode=ic_records.decode,
            make_committed=lambda index, _live: IndividualCommitShard(index),
        )
        self.on_committed: Callable[[Place, Iterable[OffsetRange]], None] = lambda _, __: None
        """Told of the ranges that a transaction commits."""
        self.on_moved: Callable[[Place, int], None] = lambda _, __: None
        """Told where a group stands once the ranges below may go."""
        self.on_dropped: Callable[[Place], None] = lambda _: None
        self.counted: Counter[str] = Counter()
        """What happened, by the name of its metric."""
        services.metadata.subscribe(self._metadata_changed)

    # -- where ranges are ------------------------------------------------------------------

    def ensure_topic(self) -> Refusal | None:
        """Make the topic as that of groups is; why there can be no individual commits."""
        metadata = self._services.metadata
        if GROUP_METADATA_TOPIC not in metadata.topics:
            self._services.controller.ensure_internal_topic(GROUP_METADATA_TOPIC)
        groups = metadata.topics.get(GROUP_METADATA_TOPIC)
        if groups is None:
            return _NO_TOPIC
        mine = metadata.topics.get(INDIVIDUAL_COMMITS_TOPIC)
        if mine is not None:
            return None if len(mine.partitions) == len(groups.partitions) else NOT_ALLOWED
        segment_bytes = str(self._services.config.int("individual.commit.log.segment.bytes"))
        configs = {
            "cleanup.policy": "compact",
            "compression.type": "producer",
            "segment.bytes": segment_bytes,
            # The records of one commit are one batch: ranges that grow are never half written.
            "max.message.bytes": segment_bytes,
        }
        least_in_sync = groups.configs.get("min.insync.replicas")
        if least_in_sync is not None:
            configs["min.insync.replicas"] = least_in_sync
        wanted = NewTopic(
            INDIVIDUAL_COMMITS_TOPIC,
            assignments=[
                (index, list(state.replicas)) for index, state in enumerate(groups.partitions)
            ],
            configs=list(configs.items()),
        )
        controller = self._services.controller
        (made,) = controller.create_topics([wanted])
        for index in range(len(groups.partitions)):
            controller.replication.lead_together(index)
        return None if made.error is ErrorCode.NONE else _NO_TOPIC

    def shard_of(self, group_id: str) -> IndividualCommitShard | Refusal:
        """Where a group's ranges are kept, as of what is written."""
        shard = self.runtime.shard_for(group_id)
        return _NOT_HERE if shard is None else shard

    def is_here(self, group_id: str) -> bool:
        """Whether this node knows of the group's ranges, of which there may be none."""
        return not self._topic.exists or self.runtime.shard_for(group_id) is not None

    def ranges_of(
        self, group_id: str, topic: str, index: int, *, live: bool
    ) -> CommittedRanges | None:
        """A group's ranges in a partition, if it has some; `live`: not all replicated yet."""
        find = self.runtime.shard_for if live else self.runtime.committed_for
        shard = find(group_id)
        return None if shard is None else shard.of(group_id, topic, index)

    def has_ranges(self, group_id: str) -> bool:
        """Whether the group has ranges anywhere."""
        shard = self.runtime.shard_for(group_id)
        return shard is not None and group_id in shard.groups

    def standing(
        self, committed: int, part: CommittedRanges | None, place: Place, *, read_committed: bool
    ) -> Standing:
        """How a group with these ranges stands in a partition."""
        part = CommittedRanges() if part is None else part
        log = self._services.leader_log(place.topic, place.partition)
        # A new group is of who commits first; else one who reads all makes all be read.
        looks_at_committed = part.read_committed and read_committed
        return Standing(committed, part, Deliverable(log, read_committed=looks_at_committed))

    # -- writing ---------------------------------------------------------------------------

    def write_both(
        self,
        shard: GroupShard,
        records: list[CoordinatorRecord],
        ranges: list[CoordinatorRecord],
        done: Callable[[ErrorCode], None],
        *,
        replay: bool = True,
        appended: Callable[[], None] | None = None,
    ) -> None:
        """Write a group's offsets and then its ranges; `done` when both are replicated."""
        both = Both(done)
        write = self._services.groups.service.runtime.write
        index = shard.partition_index
        write(index, records, both.one_done, replay=replay, appended=appended)
        if both.error is ErrorCode.NONE:
            self.counted["tombstones"] += sum(one.value is None for one in ranges)
            self.write_ranges(index, ranges, both.one_done)

    def write_ranges(
        self,
        index: int,
        ranges: list[CoordinatorRecord],
        done: Callable[[ErrorCode], None],
        *producer: int,
    ) -> None:
        """Write ranges, in a producer's transaction if one is given.

        Without any it waits for those before: what a commit found done may not be replicated yet.
        """
        if ranges or self.runtime.shard_at(index) is not None:
            self.runtime.write(index, ranges, done, *producer)
        else:
            done(ErrorCode.NONE)

    def sweep(self, shard: GroupShard, place: Place, stable: int) -> None:
        """The stable offset is replicated: the ranges below need no records any more."""
        mine = self.runtime.shard_at(shard.partition_index)
        part = None if mine is None else mine.of(place.group, place.topic, place.partition)
        now = committed_offset(shard, place)
        if now < 0:
            return
        self.on_moved(place, min(stable, now))
        if part is None:
            return
        passed = Standing(now, part, Deliverable(None, read_committed=False)).below(
            min(stable, now)
        )
        tombstones = self.tombstones(place, passed)
        if tombstones:
            self.counted["tombstones"] += len(tombstones)
            self.runtime.write(shard.partition_index, tombstones, ignore_error)

    @staticmethod
    def tombstones(place: Place, ranges: Iterable[OffsetRange]) -> list[CoordinatorRecord]:
        """The records that take these ranges away."""
        return [
            ic_records.tombstone(place.group, place.topic, place.partition, each) for each in ranges
        ]

    # -- what happens to a group's offsets otherwise (`Companion`) -----------------------------

    def write(
        self,
        shard: GroupShard,
        records: list[CoordinatorRecord],
        done: Callable[[ErrorCode], None],
        *,
        replay: bool,
        appended: Callable[[], None] | None,
    ) -> None:
        """Offsets that are deleted, or set from outside, take their ranges with them."""
        index = shard.partition_index
        mine = self.runtime.shard_at(index)
        set_there = [one.key for one in records if isinstance(one.key, OffsetCommitKey)]
        if mine is None or not set_there:
            runtime = self._services.groups.service.runtime
            runtime.write(index, records, done, replay=replay, appended=appended)
            return
        gone: list[CoordinatorRecord] = []
        places: list[Place] = []
        for key in set_there:
            part = mine.of(key.group, key.topic, key.partition)
            if part is not None:
                places.append(Place(key.group, key.topic, key.partition))
                gone += self.dropped(places[-1], part)

        def written(error: ErrorCode) -> None:
            if error is ErrorCode.NONE:
                for place in places:
                    self.on_dropped(place)
            done(error)

        self.write_both(shard, records, gone, written, replay=replay, appended=appended)

    def dropped(self, place: Place, part: CommittedRanges) -> list[CoordinatorRecord]:
        """The records that take all of a group's ranges in a partition away."""
        return self.tombstones(place, sorted([*part.keys, *part.stray, *part.all_pending()]))

    def transaction_ends(
        self, shard: GroupShard, marker: TransactionMarker, done: Callable[[ErrorCode], None]
    ) -> Callable[[ErrorCode], None] | None:
        """The ranges of a transaction count with its offsets, or are gone with them.

        While another broker leads the partition of ranges, a marker of one that has some there
        waits: nobody would write theirs later. So does one while that leader cannot be asked.
        Ranges that were dropped meanwhile leave their transaction open in the log.
        """
        index = shard.partition_index
        mine = self.runtime.shard_at(index)
        log = self._services.leader_log(INDIVIDUAL_COMMITS_TOPIC, index)
        is_ended = log is not None and not log.has_ongoing_transaction(marker.producer_id)
        if mine is None:
            return done if is_ended else None
        pending = mine.pending_of(marker.producer_id)
        places = [Place(*one[:3]) for one in pending] if marker.commit else []
        both = Both(self._then_push(index, places, done) if places else done)
        if is_ended and not pending:
            self.write_ranges(index, [], both.one_done)  # the marker may have come before
            return both.one_done
        for place, (*_, ranges) in zip(places, pending, strict=False):
            self.on_committed(place, ranges)
        self.runtime.complete_transaction(index, marker, self._log.append_marker, both.one_done)
        return both.one_done

    def _then_push(
        self, index: int, places: list[Place], done: Callable[[ErrorCode], None]
    ) -> Callable[[ErrorCode], None]:
        def ended(error: ErrorCode) -> None:
            if error is ErrorCode.NONE:
                for place in places:
                    self._push(index, place)
            done(error)

        return ended

    def _push(self, index: int, place: Place) -> None:
        """Move a group's position over what a transaction has committed, as a commit would.

        Not past a position that another transaction has pending: that is older then, and is gone.
        """
        runtime = self._services.groups.service.runtime
        shard, mine = runtime.shard_at(index), self.runtime.shard_at(index)
        part = None if mine is None else mine.of(*place[:3])
        if shard is None or part is None:
            return
        committed = shard.offsets.get(*place[:3])
        if committed is None:
            return
        stable = self.standing(committed.offset, part, place, read_committed=True).stable()
        if stable == committed.offset or shard.offsets.is_pending(*place[:3]):
            return
        now_ms = self._services.clock.wall_ms()
        value = OffsetCommitValue(stable, -1, "", now_ms, topic_id=committed.topic_id)

        def written(error: ErrorCode) -> None:
            if error is ErrorCode.NONE:
                self.sweep(shard, place, stable)

        self.counted["primary_pushes"] += 1
        runtime.write(index, [offset_commit_record(*place[:3], value)], written)

    # -- too many ranges -------------------------------------------------------------------

    def held(self, shard: GroupShard, mine: IndividualCommitShard, group_id: str) -> int:
        """How many ranges a group has, as `individual.commit.max.ranges.per.group` counts them.

        What the stable offset has passed counts no more, though its record may be there still.
        """
        count = mine.count(group_id)
        if count >= self._services.config.int("individual.commit.max.ranges.per.group"):
            for (topic, index), part in mine.groups.get(group_id, {}).items():
                place = Place(group_id, topic, index)
                committed = committed_offset(shard, place)
                standing = self.standing(committed, part, place, read_committed=True)
                count -= sum(1 for _ in part.keys.within(0, standing.stable() - 1))
        return count

    def call_out(self, shard: GroupShard, mine: IndividualCommitShard, group_id: str) -> None:
        """Let the group rebalance, unless it did for this and made no progress since."""
        self.counted["cap_hits"] += 1
        if group_id in mine.called_out:
            return
        rebalancer = self._services.groups.service.rebalancer
        consumers = shard.consumer_groups.get(group_id)
        group = shard.groups.get(group_id)
        if consumers is not None and consumers.members:
            from mockbroker.coordinator.group.consumer.group_records import epoch_record

            bumped = epoch_record(group_id, consumers.epoch + 1, consumers.metadata_hash)
            shard.write([bumped], ignore_error)
        elif group is not None and group.state in (
            GroupState.STABLE,
            GroupState.COMPLETING_REBALANCE,
        ):
            rebalancer.prepare(shard, group)
        else:
            return
        mine.called_out[group_id] = None
        self.counted["rebalances_called"] += 1

    # -- what the metadata says ----------------------------------------------------------------

    def _metadata_changed(self, change: Change) -> None:
        if not isinstance(change, TopicDeleted):
            return
        if change.name == INDIVIDUAL_COMMITS_TOPIC:
            self.runtime.reset()
        elif change.name == GROUP_METADATA_TOPIC:
            for shard in self.runtime.shards():
                gone = [
                    one
                    for group_id, topic, index, part in shard.parts()
                    for one in self.dropped(Place(group_id, topic, index), part)
                ]
                if gone:
                    self.runtime.write(shard.partition_index, gone, ignore_error)

    def metrics(self) -> dict[str, float]:
        """Counters since the start, and how many ranges and groups with ranges there are."""
        shards = self.runtime.shards()
        return {
            **self.counted,
            "groups": sum(len(shard.groups) for shard in shards),
            "ranges": sum(shard.count(group) for shard in shards for group in shard.groups),
        }


class Both:
    """Tells `done` once, when so many writes are replicated, or one failed."""

    __slots__ = ("_done", "_waits_for", "error")

    def __init__(self, done: Callable[[ErrorCode], None], waits_for: int = 2) -> None:
        self._done = done
        self._waits_for = waits_for
        self.error = ErrorCode.NONE

    def one_done(self, error: ErrorCode) -> None:
        """One of them was done with."""
        if self.error is not ErrorCode.NONE:
            return
        self._waits_for -= 1
        self.error = error
        if error is not ErrorCode.NONE or not self._waits_for:
            self._done(error)


def committed_offset(shard: GroupShard, place: Place) -> int:
    """What the group committed for the partition; -1 for nothing, or for an earlier topic."""
    committed = shard.offsets.get(place.group, place.topic, place.partition)
    if committed is None:
        return NOTHING_COMMITTED
    if ZERO_UUID not in (committed.topic_id, place.topic_id) and (
        committed.topic_id != place.topic_id
    ):
        return NOTHING_COMMITTED
    return committed.offset
