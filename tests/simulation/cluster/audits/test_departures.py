"""Members stay and are answered; who goes or waits without a reason is noticed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker.coordinator.group.classic_group import ClassicGroup
from mockbroker.coordinator.group.members import ClassicMember
from simulation.cluster.audits.departures import Departures
from tests.support.simulated_groups import SimulatedGroup

if TYPE_CHECKING:
    from mockbroker.coordinator.group.shard import GroupShard
    from mockbroker.node.broker import Broker

LOOKS = 150


def told(protocol: str, **habits: bool) -> list[str]:
    """What is found by so many looks while a group lives."""
    group = SimulatedGroup(protocol, 3, **habits)
    departures, found = Departures(group.world), list[str]()
    for _ in range(LOOKS):
        group.world.run_for(10)
        for broker in group.world.cluster.brokers:
            found += departures.look(broker)
    return found


@pytest.mark.parametrize("protocol", ["eager", "cooperative", "consumer", "mixed"])
def test_groups_by_the_rules_are_in_order(protocol: str) -> None:
    assert told(protocol, static=True, leave=True, crash=True, slow=True, restless=True) == []


def coordinator_of(group: SimulatedGroup) -> tuple[Broker, GroupShard]:
    return next(
        (broker, shard)
        for broker in group.world.cluster.brokers
        if broker.services.groups.in_use
        for shard in broker.services.groups.service.runtime.shards()
        if shard.groups or shard.consumer_groups
    )


def test_who_never_asks_what_it_was_given_may_be_thrown_out() -> None:
    group = SimulatedGroup("eager", 3)
    group.settle()
    departures = Departures(group.world)
    broker, shard = coordinator_of(group)
    found = shard.groups["g"]
    gone = next(iter(found.members))
    found.pending_syncs[gone] = None
    assert list(departures.look(broker)) == []
    del found.members[gone]
    assert list(departures.look(broker)) == []


@pytest.mark.parametrize("protocol", ["eager", "consumer"])
def test_a_member_that_is_thrown_out_is_noticed(protocol: str) -> None:
    group = SimulatedGroup(protocol, 3)
    group.settle()
    departures = Departures(group.world)
    broker, shard = coordinator_of(group)
    assert list(departures.look(broker)) == []
    found = shard.groups.get("g") or shard.consumer_groups["g"]
    del found.members[next(iter(found.members))]
    assert "is out before" in next(departures.look(broker))


def test_a_static_member_may_have_its_former_id_again() -> None:
    group = SimulatedGroup("eager", 3)
    group.settle()
    departures = Departures(group.world)
    broker, shard = coordinator_of(group)
    found = shard.groups["g"]
    former = next(iter(found.members))
    member = found.members.pop(former)
    member.member_id = "i-another"
    found.members["i-another"] = member
    assert list(departures.look(broker)) == []
    found.members[former] = found.members.pop("i-another")
    found.static_members["i"] = former
    assert list(departures.look(broker)) == []


@pytest.mark.parametrize(
    ("where", "what"), [("take_join", "JOIN_GROUP"), ("take_sync", "SYNC_GROUP")]
)
def test_an_answer_that_is_forgotten_is_noticed(
    where: str, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    take = getattr(ClassicGroup, where)

    def forgets(self: ClassicGroup, member: ClassicMember) -> object:
        parked = take(self, member)
        return None if parked is None else lambda *_: None

    monkeypatch.setattr(ClassicGroup, where, forgets)
    assert f"{what} wait, and groups know of 0" in " ".join(told("eager"))
