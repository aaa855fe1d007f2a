"""The timeouts of members."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker.clock import Clock, Timer
from mockbroker.coordinator.group.consumer.group import ConsumerGroup
from mockbroker.coordinator.group.consumer.group_records import assignment_record, member_record
from mockbroker.coordinator.group.consumer.member import ConsumerMember
from mockbroker.coordinator.group.consumer.timeouts import RETRY_MS, MemberTimeouts
from tests.support.groups import Groups

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker.coordinator.group.shard import GroupShard


class World:
    def __init__(self) -> None:
        self.clock = Clock()
        self.timer = Timer()
        self.fenced: list[str] = []
        self.failures = 0
        self.timeouts = MemberTimeouts(self.clock, self.timer, self._fence)
        self.shard = Groups().shard()
        self.group = self.shard.consumer_groups["g"] = ConsumerGroup("g")
        member = ConsumerMember("m", epoch=3, rebalance_timeout_ms=50)
        for record in (member_record("g", member), assignment_record("g", member)):
            self.group.replay(record.key, record.value)

    def _fence(
        self, _shard: GroupShard, _group_id: str, member_id: str, again: Callable[[], None]
    ) -> None:
        self.fenced.append(member_id)
        if self.failures:
            self.failures -= 1
            again()

    def at(self, now_ms: float) -> list[str]:
        self.clock.now_ms = now_ms
        while self.timer.advance(now_ms):
            pass
        return self.fenced


def test_a_session_is_over_when_nobody_winds_it_up() -> None:
    world = World()
    world.timeouts.schedule_session_timeout(world.shard, world.group, "m", 100)
    world.at(60)
    world.timeouts.schedule_session_timeout(world.shard, world.group, "m", 100)
    assert world.at(159) == []
    assert world.at(160) == ["m"]


def test_a_shorter_session_counts_at_once() -> None:
    world = World()
    world.timeouts.schedule_session_timeout(world.shard, world.group, "m", 100)
    world.timeouts.schedule_session_timeout(world.shard, world.group, "m", 10)
    assert world.at(10) == ["m"]


def test_a_member_that_left_its_epoch_has_revoked() -> None:
    world = World()
    world.timeouts.schedule_rebalance_timeout(world.shard, world.group, "m")
    record = assignment_record("g", ConsumerMember("m", epoch=4))
    world.group.replay(record.key, record.value)
    assert world.at(50) == []


def test_one_that_does_not_revoke_is_fenced() -> None:
    world = World()
    world.timeouts.schedule_rebalance_timeout(world.shard, world.group, "m")
    assert world.at(49) == []
    assert world.at(50) == ["m"]
    world.timeouts.schedule_rebalance_timeout(world.shard, world.group, "m")
    world.timeouts.cancel_rebalance_timeout(world.group, "m")
    assert world.at(500) == ["m"]


def test_who_is_told_to_join_again_has_one_time_out() -> None:
    world = World()
    world.timeouts.schedule_join_timeout(world.shard, world.group, "m")
    world.at(30)
    world.timeouts.schedule_join_timeout(world.shard, world.group, "m")
    assert world.at(50) == ["m"]


def test_a_join_ends_the_wait_for_it_and_begins_that_for_the_sync() -> None:
    world = World()
    world.timeouts.schedule_join_timeout(world.shard, world.group, "m")
    world.timeouts.schedule_sync_timeout(world.shard, world.group, "m", 80)
    assert world.at(79) == []
    world.timeouts.cancel_sync_timeout(world.group, "m")
    assert world.at(1000) == []
    world.timeouts.schedule_sync_timeout(world.shard, world.group, "m", 80)
    assert world.at(1080) == ["m"]


def test_a_group_that_is_gone_has_no_clock() -> None:
    world = World()
    world.timeouts.schedule_session_timeout(world.shard, world.group, "m", 100)
    world.timeouts.schedule_join_timeout(world.shard, world.group, "m")
    world.timeouts.forget_all(world.group)
    assert len(world.timer) == 0
    assert world.group.timers == {}


def test_a_time_out_that_could_not_be_written_is_over_once_more() -> None:
    schedules: list[Callable[[World], None]] = [
        lambda world: world.timeouts.schedule_session_timeout(world.shard, world.group, "m", 50),
        lambda world: world.timeouts.schedule_rebalance_timeout(world.shard, world.group, "m"),
        lambda world: world.timeouts.schedule_join_timeout(world.shard, world.group, "m"),
        lambda world: world.timeouts.schedule_sync_timeout(world.shard, world.group, "m", 50),
    ]
    for schedule in schedules:
        world = World()
        world.failures = 2
        schedule(world)
        assert world.at(50) == ["m"]
        assert world.at(50 + RETRY_MS) == ["m", "m"]
        assert world.at(50 + 5 * RETRY_MS) == ["m", "m", "m"]


@pytest.mark.parametrize("is_heard_of", [False, True])
def test_one_whose_removal_is_not_replicated_has_the_time_outs_that_it_was_given_last(
    is_heard_of: bool,
) -> None:
    """The removal was appended, so its time-outs were forgotten; then it could not be written."""
    world = World()
    failed: list[Callable[[], None]] = []

    def fence(_: GroupShard, _group_id: str, member_id: str, again: Callable[[], None]) -> None:
        world.fenced.append(member_id)
        world.timeouts.forget(world.group, member_id)
        failed.append(again)

    world.timeouts = MemberTimeouts(world.clock, world.timer, fence)
    world.timeouts.schedule_session_timeout(world.shard, world.group, "m", 50)
    assert world.at(50) == ["m"]
    if is_heard_of:
        world.timeouts.schedule_session_timeout(world.shard, world.group, "m", 2 * RETRY_MS)
    failed.pop()()
    assert world.at(50 + RETRY_MS) == (["m"] if is_heard_of else ["m", "m"])
    assert world.at(60 + 2 * RETRY_MS) == ["m", "m"]


def test_one_that_is_heard_of_after_its_removal_was_not_replicated_begins_anew() -> None:
    world = World()

    def fence(_: GroupShard, _group_id: str, member_id: str, again: Callable[[], None]) -> None:
        world.fenced.append(member_id)
        world.timeouts.forget(world.group, member_id)
        again()

    world.timeouts = MemberTimeouts(world.clock, world.timer, fence)
    world.timeouts.schedule_session_timeout(world.shard, world.group, "m", 50)
    world.at(50)
    world.timeouts.schedule_session_timeout(world.shard, world.group, "m", 2 * RETRY_MS)
    assert world.at(50 + RETRY_MS) == ["m"]
    assert world.at(50 + 2 * RETRY_MS) == ["m", "m"]
