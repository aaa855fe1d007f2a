"""Groups by the rules are in order; each broken rule is noticed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker.coordinator.group.consumer.migration import Migration
from mockbroker.coordinator.group.consumer.subscriptions import Subscriptions
from mockbroker.coordinator.group.consumer.timeouts import MemberTimeouts
from mockbroker.coordinator.group.rebalance import Rebalancer
from mockbroker.coordinator.group.states import GroupState
from simulation.cluster.audits.group_audits import GroupAudits
from tests.support.simulated_groups import SimulatedGroup

if TYPE_CHECKING:
    from mockbroker.coordinator.group.classic_group import ClassicGroup
    from mockbroker.coordinator.group.shard import GroupShard
    from mockbroker.node.broker import Broker

LOOKS = 100


def told(protocol: str, **habits: bool) -> list[str]:
    """What is found by so many looks while a group lives."""
    group = SimulatedGroup(protocol, 3, **habits)
    audits, found = GroupAudits(), list[str]()
    for _ in range(LOOKS):
        group.world.run_for(20)
        for broker in group.world.cluster.brokers:
            found += audits.look(broker)
    return found


@pytest.mark.parametrize("protocol", ["eager", "cooperative", "consumer", "mixed"])
def test_groups_by_the_rules_are_in_order(protocol: str) -> None:
    assert told(protocol, static=True, leave=True, crash=True, slow=True, restless=True) == []


@pytest.mark.parametrize(
    ("protocol", "where", "name", "spoilt", "wrong"),
    [
        ("eager", Rebalancer, "touch_session", lambda *_: None, "has no session"),
        ("eager", Rebalancer, "_schedule_completion", lambda *_: None, "it waits for ever"),
        ("consumer", MemberTimeouts, "schedule_session_timeout", lambda *_: None, "has no session"),
        ("mixed", Migration, "rebalance", lambda *_: None, "nobody is to join again"),
        ("consumer", MemberTimeouts, "forget", lambda *_: None, "and its time-outs go on"),
        ("consumer", Subscriptions, "without", lambda *_: [], "as before"),
    ],
)
def test_a_broken_rule_is_noticed(
    protocol: str,
    where: object,
    name: str,
    spoilt: object,
    wrong: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(where, name, spoilt)
    found = told(protocol, leave=True, crash=True, restless=True)
    assert any(wrong in one for one in found), found[:3]


def settled() -> tuple[Broker, GroupShard, ClassicGroup]:
    """A stable classic group, and who coordinates it."""
    group = SimulatedGroup("eager", 3)
    group.settle()
    for broker in group.world.cluster.brokers:
        groups = broker.services.groups
        for shard in groups.service.runtime.shards() if groups.in_use else ():
            if "g" in shard.groups:
                return broker, shard, shard.groups["g"]
    raise AssertionError


def test_ids_that_were_handed_out_end_and_are_waited_for() -> None:
    broker, shard, group = settled()
    services, audits = broker.services, GroupAudits()
    task = services.timer.schedule(services.clock.now_ms + 10_000, lambda: None)
    group.pending_joins["p"] = task
    assert list(audits.look(broker)) == []
    services.groups.service.rebalancer.prepare(shard, group)
    assert list(audits.look(broker)) == []
    group.generation_id += 1
    (wrong,) = [one for one in audits.look(broker) if "it went on" in one]
    assert wrong.endswith("without ['p']")
    task.cancel()
    assert any("p was handed out for ever" in one for one in audits.look(broker))


def test_a_rebalance_that_all_joined_and_waits_is_noticed() -> None:
    broker, shard, group = settled()
    broker.services.groups.service.rebalancer.prepare(shard, group)
    for member in group.members.values():
        group.park_join(member, lambda _: None)
    (wrong,) = GroupAudits().look(broker)
    assert wrong.endswith("all came, and it waits")
    full = GroupAudits(max_size=len(group.members))
    assert list(full.look(broker)) == [], "who joined again may have been turned away"


def test_who_has_synced_and_is_waited_for_is_noticed() -> None:
    broker, _, group = settled()
    group.state = GroupState.COMPLETING_REBALANCE
    first, *others = group.members.values()
    first.parked_sync = lambda _: None
    group.pending_syncs = {first.member_id: None}
    wrong = " ".join(GroupAudits().look(broker))
    assert "who has synced is waited for" in wrong
    assert others
    assert "who has not synced is not waited for" in wrong
    assert "1 have to sync, and a time-out runs or not" in wrong


def test_epochs_of_partitions_that_nobody_has_are_noticed() -> None:
    group = SimulatedGroup("consumer", 2)
    group.settle()
    audits = GroupAudits()
    for broker in group.world.cluster.brokers:
        groups = broker.services.groups
        for shard in groups.service.runtime.shards() if groups.in_use else ():
            shard.consumer_groups["g"].partition_epochs[b"x" * 16, 0] = 1
            assert any("are held, or have an epoch" in one for one in audits.look(broker))


def test_a_sync_that_waits_over_the_next_rebalance_is_noticed() -> None:
    group = SimulatedGroup("eager", 2)
    group.settle()
    audits = GroupAudits()
    for broker in group.world.cluster.brokers:
        for shard in broker.services.groups.service.runtime.shards():
            for classic in shard.groups.values():
                classic.state = GroupState.PREPARING_REBALANCE
                next(iter(classic.members.values())).parked_sync = lambda _: None
                found = [*audits._wrong_classic(classic, 0.0)]
                assert any("of the generation before" in one for one in found)
                return
    raise AssertionError("nobody coordinates")
