"""Classic members share their topics, and go on when one of them is gone."""

from __future__ import annotations

import pytest

from mockbroker.coordinator.group.join import JoinHandler
from mockbroker.coordinator.group.rebalance import Rebalancer
from mockbroker_protocol.messages.group_membership import (
    JoinGroupResponse,
    JoinGroupResponseMember,
)
from simulation.cluster.classic_assignor import EAGER, subscription_bytes
from simulation.cluster.classic_members import OWN, ClassicMember, _instance_of
from tests.support.simulated_groups import SimulatedGroup


@pytest.mark.parametrize("protocol", ["eager", "cooperative"])
def test_what_one_leaves_another_gets(protocol: str) -> None:
    group = SimulatedGroup(protocol, 2)
    group.settle()
    owners = [member for member in group.group.members if member.owned]
    assert [list(one.owned) for one in owners] == [[("t0", 0)]]
    owner, other = owners[0], next(one for one in group.group.members if one is not owners[0])
    coordinator = owner.coordinator
    assert coordinator is not None
    owner.stop()
    assert group.world.run_until(lambda: not owner.busy, 1_000)
    owner.lose_identity()
    assert group.world.run_until(lambda: bool(other.owned), 5_000)
    assert not group.world.violations


def test_a_static_member_comes_back_to_its_place() -> None:
    group = SimulatedGroup("eager", 1, static=True)
    member = group.member(0)
    assert isinstance(member, ClassicMember)
    member.instance_id, member.version = "i", 9
    group.settle()
    before, generation = member.member_id, member.generation
    member.lose_identity()
    group.settle()
    assert member.member_id != before
    assert member.generation == generation


def test_a_member_of_another_generation_joins_as_the_member_that_it_was() -> None:
    group = SimulatedGroup("cooperative", 1)
    member = group.member(0)
    assert isinstance(member, ClassicMember)
    group.settle()
    before = member.member_id
    member.failed("sync", 22)
    assert (member.member_id, member.generation, member.is_in) == (before, -1, False)
    member.failed("sync", 25)
    assert member.member_id == ""


def test_a_heartbeat_that_renews_nothing_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    group = SimulatedGroup("eager", 2)
    group.settle()
    monkeypatch.setattr(Rebalancer, "touch_session", lambda *_: None)
    group.world.run_for(300)
    assert "the session of" in group.world.violations[0]


def test_who_knows_another_protocol_agrees_with_the_others_and_dawdles() -> None:
    group = SimulatedGroup("eager", 4, dawdlers=True)
    members = [one for one in group.group.members if isinstance(one, ClassicMember)]
    own = {one.name for one in members if one.protocols[0] == OWN}
    assert 0 < len(own) < len(members)
    group.world.run_for(1_500)
    group.settle()
    assert {one.protocol for one in members} == {EAGER}


def test_who_gives_up_a_protocol_while_it_joins_may_be_told_that_one() -> None:
    group = SimulatedGroup("eager", 1, dawdlers=True)
    member = group.member(0)
    assert isinstance(member, ClassicMember)
    member.protocols = [OWN, EAGER]
    assert group.world.run_until(lambda: member._offered is member.protocols, 1_000)
    member.calm_down()
    group.settle()
    assert member.protocol == EAGER
    assert not group.world.violations


def test_who_joins_once_more_and_moves_nobody_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    group = SimulatedGroup("eager", 2)
    group.settle()
    monkeypatch.setattr(JoinHandler, "_must_rebalance", lambda *_: False)
    for number in range(2):
        member = group.member(number)
        assert isinstance(member, ClassicMember)
        member._joined = member._synced = False
    group.world.run_until(lambda: bool(group.world.violations), 500)
    assert "joins 1 once more" in group.world.violations[0]


@pytest.mark.parametrize(("leads", "topics"), [(True, ["t0"]), (False, []), (False, ["t0"])])
def test_who_must_move_its_group_on(leads: bool, topics: list[str]) -> None:
    group = SimulatedGroup("eager", 1)
    group.settle()
    member = group.member(0)
    assert isinstance(member, ClassicMember)
    member._led = leads
    subscription = subscription_bytes(topics, [], 0)
    member._subscription = subscription_bytes(["t0"], [], 0)
    assert bool(member._must_move_on(subscription)) == (leads or not topics)
    member._stable_in = -1
    assert member._must_move_on(subscription) == ""


def test_who_is_let_in_without_an_id_is_noticed() -> None:
    group = SimulatedGroup("eager", 1)
    group.settle()
    member = group.member(0)
    assert isinstance(member, ClassicMember)
    member._is_let_in(group.book.ask(1), JoinGroupResponse(generation_id=1))
    assert "is told no id of its own" in group.world.violations[0]


def test_a_leader_below_version_5_knows_static_members_by_their_ids() -> None:
    for member_id, instance in (("i-a-" + "0" * 36, "i-a"), ("a-" + "0" * 36, None)):
        assert _instance_of(JoinGroupResponseMember(member_id)) == instance
