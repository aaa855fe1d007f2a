"""Members commit and fetch what they have, find their coordinator anew, and misbehave."""

from __future__ import annotations

import pytest

from mockbroker_protocol.errors import ErrorCode
from simulation.cluster.group_members import GroupMember
from simulation.cluster.group_plan import HABITS
from tests.support.simulated_groups import SimulatedGroup


@pytest.mark.parametrize("protocol", ["eager", "consumer"])
def test_offsets_outlive_their_coordinator(protocol: str) -> None:
    group = SimulatedGroup(protocol, 1)
    group.settle()
    world, before = group.world, group.book.checks
    leader = world.cluster.metadata.topics["__consumer_offsets"].partitions[0].leader
    world.operate(lambda: world.controls.kill(leader))
    group.settle()
    assert group.book.checks > before > 0


@pytest.mark.parametrize("protocol", ["eager", "cooperative", "consumer", "mixed"])
@pytest.mark.parametrize("habit", HABITS)
def test_a_group_with_a_habit_becomes_stable_when_it_is_calm(protocol: str, habit: str) -> None:
    group = SimulatedGroup(protocol, 3, **{habit: True})
    group.world.run_for(2_000)
    group.settle()
    assert group.book.checks > 0


def test_an_answer_that_no_member_expects_is_noticed() -> None:
    group = SimulatedGroup("eager", 1)
    group.settle()
    group.member(0).refused("commit", ErrorCode.UNSTABLE_OFFSET_COMMIT)
    assert "commit is answered 88" in group.world.violations[0]


@pytest.mark.parametrize("protocol", ["eager", "consumer"])
def test_static_members_are_started_again(protocol: str, monkeypatch: pytest.MonkeyPatch) -> None:
    group = SimulatedGroup(protocol, 2, admin=True, restarts=True)
    kind, left = type(group.member(0)), list[str]()
    leave = kind.leave

    def leaves(self: GroupMember, node: int) -> None:
        left.append(self.name)
        leave(self, node)

    monkeypatch.setattr(kind, "leave", leaves)
    group.world.run_for(3_000)
    assert len(left) > 2
    members = [one for one in group.group.actors if one.instance_id is not None]
    assert members
    assert set(members) <= set(group.group.members)
    group.settle()
