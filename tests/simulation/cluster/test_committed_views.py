"""Coordinators tell what is replicated; one that tells more is noticed."""

from __future__ import annotations

import pytest

from mockbroker.coordinator.group.shard import GroupShard
from mockbroker.coordinator.runtime import CoordinatorRuntime
from mockbroker.metadata.names import GROUP_METADATA_TOPIC
from simulation.clients import ask_at_once
from simulation.cluster.committed_views import of_groups
from tests.support.simulated_groups import SimulatedGroup


def told(protocol: str) -> list[str]:
    """What is answered otherwise while nothing more is replicated."""
    group = SimulatedGroup(protocol, 2)
    group.settle()
    group.world.controls.hold_high_watermark(GROUP_METADATA_TOPIC, 0)
    for member in group.group.members:
        member.calm = False
        member.lose_identity()
    found: list[str] = []
    for _ in range(20):
        group.world.run_for(20)
        for broker in group.world.cluster.brokers:
            for one in of_groups(broker, "t0"):
                answer = ask_at_once(group.world, broker, one.request, one.version)
                if one.error_of(answer) != one.wanted:
                    found.append(one.what)
    return found


@pytest.mark.parametrize("protocol", ["eager", "consumer"])
def test_what_is_told_is_replicated(protocol: str) -> None:
    assert told(protocol) == []


def test_what_is_told_too_early_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CoordinatorRuntime, "committed_for", CoordinatorRuntime.shard_for)
    assert "the epoch of a group" in told("consumer")


def test_a_list_of_other_groups_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CoordinatorRuntime, "committed_shards", lambda _: [])
    assert "who asks for groups" in told("consumer")


def test_a_group_without_those_who_join_now_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def stored(self: GroupShard, group_id: str) -> object:
        return self.groups.get(group_id)

    monkeypatch.setattr(GroupShard, "told_classic_group", stored)
    assert "the members and the state of a classic group" in told("eager")
