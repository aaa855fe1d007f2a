"""Members that go, of their own will or not (GroupMetadataManager.consumerGroupFenceMembers).

What a member had is free at once; the group's epoch is bumped, so that the next heartbeat of
somebody else computes a target without it. When the last member of the consumer protocol goes and
classic ones stay, the group is downgraded: see `migration`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.coordinator.group.consumer.group_records import (
    member_tombstones,
    target_epoch_record,
)
from mockbroker.coordinator.group.consumer.timeouts import MemberTimeouts
from mockbroker_protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mockbroker.clock import Clock, Timer
    from mockbroker.coordinator.group.consumer.group import ConsumerGroup
    from mockbroker.coordinator.group.consumer.member import ConsumerMember
    from mockbroker.coordinator.group.consumer.migration import Migration
    from mockbroker.coordinator.group.consumer.subscriptions import Subscriptions
    from mockbroker.coordinator.group.shard import GroupShard
    from mockbroker.coordinator.records import CoordinatorRecord


class Fencing:
    """Takes members out, and has the time-outs that do so when they are over."""

    __slots__ = ("_clock", "_migration", "_subscriptions", "timeouts")

    def __init__(
        self, clock: Clock, timer: Timer, subscriptions: Subscriptions, migration: Migration
    ) -> None:
        self._clock = clock
        self._subscriptions = subscriptions
        self._migration = migration
        self.timeouts = MemberTimeouts(clock, timer, self._expired)

    def fence(
        self,
        shard: GroupShard,
        group: ConsumerGroup,
        members: Sequence[ConsumerMember],
        done: Callable[[ErrorCode], None],
    ) -> None:
        """Take these out; `done` once it is written."""
        if not members:
            shard.write([], done)
            return
        if self._migration.can_downgrade_without(group, members):
            self._migration.downgrade_without(shard, group, members, done)
            return
        group_id = group.group_id
        records: list[CoordinatorRecord] = []
        for member in members:
            records += member_tombstones(group_id, member.member_id)
        records += self._subscriptions.without(group, members)
        if len(members) == len(group.members):
            # Nobody is left to compute a target for: the group is reconciled as it is.
            records.append(target_epoch_record(group_id, group.epoch + 1, 0))

        def appended() -> None:
            for member in members:
                self.timeouts.forget(group, member.member_id)
            self.moved(group)

        shard.write(records, done, appended=appended)

    def moved(self, group: ConsumerGroup) -> None:
        """Something about the group changed just now."""
        group.bumped_ms = self._clock.now_ms

    def _expired(
        self, shard: GroupShard, group_id: str, member_id: str, again: Callable[[], None]
    ) -> None:
        group = shard.consumer_groups.get(group_id)
        member = None if group is None else group.members.get(member_id)
        if group is None or member is None:
            return

        def written(error: ErrorCode) -> None:
            moved_away = error is ErrorCode.NOT_COORDINATOR
            if error is not ErrorCode.NONE and not moved_away and member_id in group.members:
                again()

        self.fence(shard, group, [member], written)
