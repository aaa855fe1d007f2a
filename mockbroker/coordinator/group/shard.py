"""The groups and offsets of one partition of `__consumer_offsets` (GroupCoordinatorShard).

The decisions (`join`, `sync`, `sessions`, `offsets`, `deletion`, `expiry`) read a shard, and change
what is durable by `write` alone: the records are appended, and `replay` changes the state. The
same `replay` rebuilds a shard from its log. Beside other brokers a second shard follows what is
replicated; `views`, and what else tells of groups, read that one.

Invariants: a group with a stored offset is in `groups` or in `consumer_groups`, and none is in
both; a group in `groups` is not Dead.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from mockbroker.coordinator.group.classic_group import ClassicGroup, group_metadata_record
from mockbroker.coordinator.group.offset_store import OffsetStore, offset_tombstone
from mockbroker.coordinator.group.states import GroupState
from mockbroker.coordinator.runtime import NO_PRODUCER_ID
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.coordinator_records import (
    GroupMetadataKey,
    GroupMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from mockbroker.coordinator.group.consumer.assignment import Assignor
    from mockbroker.coordinator.group.consumer.group import ConsumerGroup
    from mockbroker.coordinator.records import (
        CoordinatorKey,
        CoordinatorRecord,
        CoordinatorValue,
    )
    from mockbroker.coordinator.runtime import CoordinatorRuntime
    from mockbroker.replica.append_entry import TransactionMarker


class ShardListener:
    """What the coordinator does when shards change; every method is called by `GroupShard`."""

    def on_loaded(self, shard: GroupShard) -> None:
        """Arm the sessions of the members that were loaded."""

    def on_unloaded(self, shard: GroupShard, error: ErrorCode) -> None:
        """Answer what is parked with `error`."""

    def on_first_group(self, shard: GroupShard) -> None:
        """There is something now that may expire."""

    def on_group_removed(self, group: ClassicGroup) -> None:
        """A tombstone took the group away."""

    def on_consumer_group_removed(self, group: ConsumerGroup) -> None:
        """A tombstone took a group of KIP-848 away."""


class Following(Protocol):
    """Of a companion: whether what shards write matters to it now."""

    follows: bool


class Companion(Protocol):
    """Keeps more of what groups have committed, in a topic of its own."""

    @property
    def assignors(self) -> Mapping[str, Assignor]:
        """What it brings for groups of KIP-848, by name."""

    @property
    def in_use(self) -> Following:
        """Asked before each `write`."""

    def write(
        self,
        shard: GroupShard,
        records: list[CoordinatorRecord],
        done: Callable[[ErrorCode], None],
        *,
        replay: bool,
        appended: Callable[[], None] | None,
    ) -> None:
        """Write a shard's records as `CoordinatorRuntime.write` does, and what goes with them."""

    def transaction_ends(
        self, shard: GroupShard, marker: TransactionMarker, done: Callable[[ErrorCode], None]
    ) -> Callable[[ErrorCode], None] | None:
        """The marker is about to be written; what is told in place of `done`.

        None: it must not be written yet, because what goes with it is coordinated elsewhere.
        """


def find_shard(
    runtime: CoordinatorRuntime[GroupShard], group_id: str
) -> tuple[GroupShard | None, ErrorCode]:
    """The shard that owns a group, or the error for the client."""
    if not group_id:
        return None, ErrorCode.INVALID_GROUP_ID
    shard = runtime.shard_for(group_id)
    return shard, ErrorCode.NONE if shard is not None else runtime.missing_error(group_id)


@dataclass(slots=True, eq=False)
class GroupShard:
    """One partition's groups by id, classic ones and those of KIP-848, and their offsets."""

    partition_index: int
    _runtime: CoordinatorRuntime[GroupShard]
    _listener: ShardListener
    groups: dict[str, ClassicGroup] = field(default_factory=dict)
    consumer_groups: dict[str, ConsumerGroup] = field(default_factory=dict)
    offsets: OffsetStore = field(default_factory=OffsetStore)
    live: GroupShard | None = None
    """Of a shard as of the committed offset: the one that runs ahead."""
    companion: Companion | None = None

    def write(
        self,
        records: list[CoordinatorRecord],
        done: Callable[[ErrorCode], None],
        *,
        replay: bool = True,
        appended: Callable[[], None] | None = None,
    ) -> None:
        """Append and replay `records`, then `done(error)`; see `CoordinatorRuntime.write`."""
        companion = self.companion
        if companion is not None and companion.in_use.follows:
            companion.write(self, records, done, replay=replay, appended=appended)
            return
        self._runtime.write(self.partition_index, records, done, replay=replay, appended=appended)

    def replay(self, offset: int, producer_id: int, record: CoordinatorRecord) -> None:
        """Change the state as the record says; the only place where durable state changes."""
        key, value = record.key, record.value
        if isinstance(key, OffsetCommitKey):
            assert value is None or isinstance(value, OffsetCommitValue)
            self._replay_offset(offset, producer_id, key, value)
        elif isinstance(key, GroupMetadataKey):
            assert value is None or isinstance(value, GroupMetadataValue)
            self._replay_group(key.group, value)
        else:
            self._replay_consumer_group(key, value)

    def _replay_offset(
        self, offset: int, producer_id: int, key: OffsetCommitKey, value: OffsetCommitValue | None
    ) -> None:
        if value is not None:
            if key.group not in self.consumer_groups:
                self._group_or_new(key.group)
            self.offsets.put(offset, producer_id, key, value)
        else:
            self.offsets.remove(key.group, key.topic, key.partition)

    def _replay_group(self, group_id: str, value: GroupMetadataValue | None) -> None:
        if value is not None:
            self._group_or_new(group_id).apply(value)
            return
        group = self.groups.pop(group_id, None)
        if group is not None:
            group.state = GroupState.DEAD
            self._listener.on_group_removed(group)

    def _replay_consumer_group(self, key: CoordinatorKey, value: CoordinatorValue | None) -> None:
        from mockbroker.coordinator.group.consumer.group import ConsumerGroup
        from mockbroker_protocol.messages.consumer_group_records import ConsumerGroupMetadataKey

        group_id: str = key.group_id  # type: ignore[union-attr]  # all keys of KIP-848 have it
        group = self.consumer_groups.get(group_id)
        if group is None:
            if value is None:
                return
            if not self.has_groups:
                self._listener.on_first_group(self)
            # What a simple group has committed is this group's from now on.
            self.groups.pop(group_id, None)
            group = self.consumer_groups[group_id] = ConsumerGroup(group_id)
        group.replay(key, value)
        if value is None and isinstance(key, ConsumerGroupMetadataKey):
            del self.consumer_groups[group_id]
            self._listener.on_consumer_group_removed(group)

    @property
    def has_groups(self) -> bool:
        """Whether there is a group of either protocol."""
        return bool(self.groups or self.consumer_groups)

    def told_classic_group(self, group_id: str) -> ClassicGroup | None:
        """A classic group as it may be told: that it is there is as of this shard.

        Its members and its state are those of now (Kafka's ClassicGroup is not on the timeline).
        """
        group = self.groups.get(group_id)
        if group is None or self.live is None:
            return group
        return self.live.groups.get(group_id, group)

    def told_groups(self) -> Iterator[ClassicGroup | ConsumerGroup]:
        """The groups of both protocols as they may be told, classic ones first."""
        for group_id, group in self.groups.items():
            yield self.told_classic_group(group_id) or group
        yield from self.consumer_groups.values()

    def all_groups(self) -> list[ClassicGroup | ConsumerGroup]:
        """The groups of both protocols, classic ones first."""
        return [*self.groups.values(), *self.consumer_groups.values()]

    def _group_or_new(self, group_id: str) -> ClassicGroup:
        group = self.groups.get(group_id)
        if group is None:
            if not self.has_groups:
                self._listener.on_first_group(self)
            group = self.groups[group_id] = ClassicGroup(group_id)
        return group

    def on_loaded(self) -> None:
        """Every record of the partition was replayed."""
        self._listener.on_loaded(self)

    def on_unloaded(self, error: ErrorCode) -> None:
        """Another node owns the partition from now on."""
        self._listener.on_unloaded(self, error)

    def create_group(self, group_id: str, now_wall_ms: int) -> CoordinatorRecord:
        """The record that makes an empty group (newEmptyGroupMetadataRecord)."""
        return ClassicGroup(group_id).metadata_record(now_wall_ms)

    def tombstones(self, group_id: str) -> list[CoordinatorRecord]:
        """The records that take away a group and its offsets, pending ones too."""
        records = [
            offset_tombstone(group_id, topic, index)
            for topic, index in self.offsets.partitions_of_group(group_id)
        ]
        return records + self.group_tombstones(group_id)

    def group_tombstones(self, group_id: str) -> list[CoordinatorRecord]:
        """The records that take away a group, and leave its offsets."""
        group = self.consumer_groups.get(group_id)
        if group is None:
            return [group_metadata_record(group_id, None)]
        from mockbroker.coordinator.group.consumer.group_records import group_tombstones

        return group_tombstones(group)

    def end_transaction(self, producer_id: int, *, commit: bool) -> None:
        """A transaction marker stands in the log: its pending offsets are committed, or gone."""
        assert producer_id != NO_PRODUCER_ID
        self.offsets.end_transaction(producer_id, commit=commit)
