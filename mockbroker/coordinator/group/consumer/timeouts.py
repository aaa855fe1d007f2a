"""The time-outs of a consumer group's members, as GroupMetadataManager schedules them.

| time-out  | runs                                              | over: the member is fenced |
|-----------|---------------------------------------------------|----------------------------|
| session   | always; every heartbeat schedules it anew         | yes                        |
| rebalance | while the member has partitions to give up        | if its epoch is the same   |
| join      | once a classic member must join again             | yes                        |
| sync      | between a classic member's join and its sync      | yes                        |

`heartbeat`, `mixed` and `migration` schedule them; `fence` is called when one is over, and again
later while that cannot be written.

Invariant: a time-out of a member that is not in its group any more is cancelled, or does nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from mockbroker.coordinator.group.consumer.member import MemberTimers

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from mockbroker.clock import Clock, Timer, TimerTask
    from mockbroker.coordinator.group.consumer.group import ConsumerGroup
    from mockbroker.coordinator.group.shard import GroupShard

    # Take the member out of the group; the last argument is called when it could not be written.
    Fence: TypeAlias = Callable[[GroupShard, str, str, Callable[[], None]], None]

# CoordinatorTimer: how long after a write that failed a time-out is over once more.
RETRY_MS: Final = 500


@dataclass(slots=True, eq=False)
class MemberTimeouts:
    """Schedules the time-outs of all groups of one coordinator."""

    _clock: Clock
    _timer: Timer
    _fence: Fence

    def schedule_session_timeout(
        self, shard: GroupShard, group: ConsumerGroup, member_id: str, timeout_ms: float
    ) -> None:
        """A request of the member: its session lasts another time-out.

        The timer's task stays where it is while the deadline moves away from it, and renews itself
        when it runs too early: a heartbeat costs no timer work.
        """
        timers = self._timers(group, member_id)
        deadline_ms = timers.deadline_ms = self._clock.now_ms + timeout_ms
        task = timers.session
        if task is None or not task.pending or task.tick_ms >= deadline_ms + 1:
            self._arm_session(shard, group.group_id, member_id, timers)

    def _arm_session(
        self, shard: GroupShard, group_id: str, member_id: str, timers: MemberTimers
    ) -> None:
        self._cancel(timers.session)

        def due() -> None:
            if timers.deadline_ms > self._clock.now_ms:
                self._arm_session(shard, group_id, member_id, timers)
            else:
                self._fence(shard, group_id, member_id, again)

        def again() -> None:
            if _are_kept(shard, group_id, member_id, timers):
                timers.session = self._schedule(RETRY_MS, due)

        timers.session = self._timer.schedule(timers.deadline_ms, due)

    def schedule_rebalance_timeout(
        self, shard: GroupShard, group: ConsumerGroup, member_id: str
    ) -> None:
        """The member has to give up partitions, within its rebalance time-out."""
        self.cancel_rebalance_timeout(group, member_id)
        member, timers = group.members[member_id], self._timers(group, member_id)

        def due() -> None:
            live = group.members.get(member_id)
            if live is not None and live.epoch == member.epoch:
                self._fence(shard, group.group_id, member_id, again)

        def again() -> None:
            if _are_kept(shard, group.group_id, member_id, timers):
                timers.rebalance = self._schedule(RETRY_MS, due)

        timers.rebalance = self._schedule(member.rebalance_timeout_ms, due)

    def cancel_rebalance_timeout(self, group: ConsumerGroup, member_id: str) -> None:
        """The member has given up what it had to."""
        self._cancel(self._timers(group, member_id).rebalance)

    def schedule_join_timeout(
        self, shard: GroupShard, group: ConsumerGroup, member_id: str
    ) -> None:
        """A classic member must join again; a time-out that runs goes on."""
        timers = self._timers(group, member_id)
        if timers.join is not None and timers.join.pending:
            return

        def due() -> None:
            self._fence(shard, group.group_id, member_id, again)

        def again() -> None:
            if _are_kept(shard, group.group_id, member_id, timers):
                timers.join = self._schedule(RETRY_MS, due)

        timers.join = self._schedule(group.members[member_id].rebalance_timeout_ms, due)

    def schedule_sync_timeout(
        self, shard: GroupShard, group: ConsumerGroup, member_id: str, timeout_ms: int
    ) -> None:
        """A classic member has joined, and shall sync."""
        timers = self._timers(group, member_id)
        self._cancel(timers.join)
        self._cancel(timers.sync)

        def due() -> None:
            self._fence(shard, group.group_id, member_id, again)

        def again() -> None:
            if _are_kept(shard, group.group_id, member_id, timers):
                timers.sync = self._schedule(RETRY_MS, due)

        timers.sync = self._schedule(timeout_ms, due)

    def cancel_sync_timeout(self, group: ConsumerGroup, member_id: str) -> None:
        """A classic member has synced."""
        self._cancel(self._timers(group, member_id).sync)

    def forget(self, group: ConsumerGroup, member_id: str) -> None:
        """The member is gone."""
        timers = group.timers.pop(member_id, None)
        if timers is not None:
            timers.stop()

    def forget_all(self, group: ConsumerGroup) -> None:
        """The group is gone from here."""
        for member_id in list(group.timers):
            self.forget(group, member_id)

    def _timers(self, group: ConsumerGroup, member_id: str) -> MemberTimers:
        timers = group.timers.get(member_id)
        if timers is None:
            timers = group.timers[member_id] = MemberTimers()
        return timers

    def _schedule(self, timeout_ms: int, due: Callable[[], None]) -> TimerTask:
        return self._timer.schedule(self._clock.now_ms + timeout_ms, due)

    @staticmethod
    def _cancel(task: TimerTask | None) -> None:
        if task is not None:
            task.cancel()


def _are_kept(shard: GroupShard, group_id: str, member_id: str, timers: MemberTimers) -> bool:
    """Whether a member whose removal could not be written goes on with these time-outs.

    They were forgotten as it was removed. Who was heard of since has others, which count.
    """
    group = shard.consumer_groups.get(group_id)
    return group is not None and group.timers.setdefault(member_id, timers) is timers
