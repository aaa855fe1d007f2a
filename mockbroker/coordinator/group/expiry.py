"""What goes by itself or with something else: expired offsets, dead groups, deleted topics.

Offsets expire `offsets.retention.minutes` after their group became empty; those of a simple group,
or of a topic that a stable group of consumers no longer reads, after their commit; those with a
time of their own (OffsetCommit v2–v4) then (GroupCoordinatorShard.cleanupGroupMetadata,
ClassicGroup.offsetExpirationCondition). Those of a consumer group that does not read the topic
expire after their commit. An empty group whose last offset is gone goes too. The
check runs every `offsets.retention.check.interval.ms` of the broker's clock, while there are
groups.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mockbroker.coordinator.deferred_writes import ignore_error
from mockbroker.coordinator.group.classic_group import ClassicGroup
from mockbroker.coordinator.group.offset_store import offset_tombstone
from mockbroker.coordinator.group.states import GroupState

if TYPE_CHECKING:
    from mockbroker.clock import Clock, Timer, TimerTask
    from mockbroker.config.broker import BrokerConfig
    from mockbroker.coordinator.group.consumer.group import ConsumerGroup
    from mockbroker.coordinator.group.offset_store import CommittedOffset
    from mockbroker.coordinator.group.shard import GroupShard
    from mockbroker.coordinator.records import CoordinatorRecord

_MS_PER_MINUTE = 60_000
_NO_EXPIRY = -1


@dataclass(slots=True, eq=False)
class Expiry:
    """The recurring check of one coordinator's shards."""

    _clock: Clock
    _timer: Timer
    _config: BrokerConfig
    _tasks: dict[GroupShard, TimerTask] = field(default_factory=dict)

    def watch(self, shard: GroupShard) -> None:
        """Check this shard from now on, until it has no group."""
        if shard in self._tasks:
            return
        interval_ms = self._config.int("offsets.retention.check.interval.ms")
        self._tasks[shard] = self._timer.schedule(
            self._clock.now_ms + interval_ms, lambda: self._due(shard)
        )

    def forget(self, shard: GroupShard) -> None:
        """The shard moved away."""
        task = self._tasks.pop(shard, None)
        if task is not None:
            task.cancel()

    def _due(self, shard: GroupShard) -> None:
        del self._tasks[shard]
        self.clean(shard)
        if shard.has_groups:
            self.watch(shard)

    def clean(self, shard: GroupShard) -> None:
        """Write the tombstones that are due in this shard."""
        records: list[CoordinatorRecord] = []
        for group in shard.all_groups():
            if self._clean_group(shard, group, records) and group.is_empty:
                records += shard.group_tombstones(group.group_id)
        if records:
            shard.write(records, ignore_error)

    def _clean_group(
        self,
        shard: GroupShard,
        group: ClassicGroup | ConsumerGroup,
        records: list[CoordinatorRecord],
    ) -> bool:
        """Whether no offset of the group stays (OffsetMetadataManager.cleanupExpiredOffsets)."""
        group_id = group.group_id
        offsets = shard.offsets.of_group(group_id)
        if not offsets:
            return not shard.offsets.has_open_transaction(group_id)
        is_gone = not shard.offsets.has_open_transaction(group_id)
        for topic, partitions in offsets.items():
            subscribed = group.is_subscribed_to(topic)
            for index, committed in partitions.items():
                if (
                    not subscribed
                    and self._is_expired(group, committed)
                    and not shard.offsets.is_pending(group_id, topic, index)
                ):
                    records.append(offset_tombstone(group_id, topic, index))
                else:
                    is_gone = False
        return is_gone

    def _is_expired(self, group: ClassicGroup | ConsumerGroup, committed: CommittedOffset) -> bool:
        since_ms = committed.commit_timestamp_ms
        if isinstance(group, ClassicGroup) and group.protocol_type is not None:
            if group.state is GroupState.EMPTY:
                if group.state_timestamp_ms is not None:
                    since_ms = group.state_timestamp_ms
            elif (
                group.state is not GroupState.STABLE
                or not group.is_of_consumers
                or group.subscribed_topics is None
            ):
                return False
        now_wall_ms = self._clock.wall_ms()
        if committed.expire_timestamp_ms != _NO_EXPIRY:
            return now_wall_ms >= committed.expire_timestamp_ms
        retention_ms = self._config.int("offsets.retention.minutes") * _MS_PER_MINUTE
        return now_wall_ms - since_ms >= retention_ms

    def topic_deleted(self, shard: GroupShard, topic: str) -> None:
        """The topic's offsets go with it (GroupCoordinatorService.onPartitionsDeleted)."""
        records = [
            offset_tombstone(group_id, topic, index)
            for group_id, index in shard.offsets.of_topic(topic)
        ]
        if records:
            shard.write(records, ignore_error)
