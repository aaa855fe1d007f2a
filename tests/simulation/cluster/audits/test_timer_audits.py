"""Time-outs of what is done are noticed, and actions that come early."""

from __future__ import annotations

from functools import partial
from math import floor
from random import Random

import pytest

from mockbroker.clock import Timer, TimerTask
from mockbroker.coordinator.group.rebalance import Rebalancer
from mockbroker.purgatory.purgatory import Purgatory
from mockbroker.replica.log_upkeep import LogUpkeep
from simulation.cluster.audits.timer_audits import Probes, wrong_timers
from tests.support.simulated_cluster import SimulatedCluster
from tests.support.simulated_groups import SimulatedGroup


def told_of_data(simulated: SimulatedCluster) -> list[str]:
    """What is found while a producer writes and a consumer waits."""
    simulated.consumer.start()
    found: list[str] = []
    for _ in range(30):
        simulated.produce(1)
        for broker in simulated.world.cluster.brokers:
            found += wrong_timers(broker)
    return found


def test_timers_by_the_rules_are_in_order() -> None:
    assert told_of_data(SimulatedCluster()) == []


def test_the_time_out_of_what_completed_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Purgatory, "_disarm", lambda *_: None)
    assert "which has completed" in told_of_data(SimulatedCluster())[0]


def test_entries_that_are_not_swept_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    simulated = SimulatedCluster()
    broker = simulated.world.cluster.brokers[0]
    purgatory = broker.services.replicas.fetch_purgatory
    monkeypatch.setattr(purgatory, "purgatory_size", purgatory.purge_interval + 1)
    assert "are of operations that completed" in next(wrong_timers(broker))


def told_of_a_clock_ahead() -> list[str]:
    simulated = SimulatedCluster()
    simulated.produce(1)
    world, broker = simulated.world, simulated.world.cluster.brokers[0]
    world.run_for(200)
    found = [*wrong_timers(broker)]
    world.operate(partial(world.controls.skew_clock, broker.broker_id, 8 * 86_400_000))
    return [*found, *wrong_timers(broker)]


def test_a_round_that_comes_too_late_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert told_of_a_clock_ahead() == []
    monkeypatch.setattr(LogUpkeep, "wall_moved", lambda *_: None)
    assert "by log.retention.check.interval.ms at" in told_of_a_clock_ahead()[0]


def told_of_a_group() -> list[str]:
    group = SimulatedGroup("eager", 2, leave=True, restless=True)
    found: list[str] = []
    for _ in range(60):
        group.world.run_for(5)
        for broker in group.world.cluster.brokers:
            found += wrong_timers(broker)
    for broker in group.world.cluster.brokers:
        services = broker.services
        for shard in services.groups.service.runtime.shards() if services.groups.in_use else ():
            for one in [*shard.groups.values()]:
                del shard.groups[one.group_id]
                services.groups.service.rebalancer.kill(one, 15)  # type: ignore[arg-type]
        found += wrong_timers(broker)
    return found


def test_a_group_leaves_no_time_out() -> None:
    assert told_of_a_group() == []


def test_the_time_out_of_a_group_that_is_gone_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Rebalancer, "kill", lambda *_: None)
    assert "group g, which is gone" in told_of_a_group()[0]


def told_of_a_group_elsewhere() -> list[str]:
    """What is found where a group's coordinator has just given it away."""
    group = SimulatedGroup("eager", 2)
    world, name = group.world, "__consumer_offsets"
    group.settle()
    state = world.cluster.metadata.topics[name].partitions[0]
    broker = world.cluster.broker(state.leader)
    assert broker is not None
    to = next(node for node in state.replicas if node != state.leader)
    world.operate(lambda: world.controls.move_leader(name, 0, to))
    assert broker.services.groups.service.runtime.shards() == []
    return [*wrong_timers(broker)]


def test_a_group_that_is_elsewhere_leaves_no_time_out() -> None:
    assert told_of_a_group_elsewhere() == []


def test_the_time_out_of_a_group_that_is_elsewhere_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Rebalancer, "kill", lambda *_: None)
    assert "group g, which is gone" in told_of_a_group_elsewhere()[0]


def told_by_probes(simulated: SimulatedCluster) -> list[str]:
    probes, found = Probes(Random(1)), list[str]()
    broker = simulated.world.cluster.brokers[0]
    for _ in range(20):
        found += probes.look(broker, 0.0)
        simulated.world.run_for(60)
    return found


def test_actions_run_when_they_are_due() -> None:
    assert told_by_probes(SimulatedCluster()) == []


def test_one_that_runs_early_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    schedule = Timer.schedule

    def early(self: Timer, deadline_ms: float, action: object) -> TimerTask:
        return schedule(self, floor(deadline_ms), action)  # type: ignore[arg-type]

    monkeypatch.setattr(Timer, "schedule", early)
    assert "an action ran at" in told_by_probes(SimulatedCluster())[0]


def test_one_that_does_not_run_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    simulated = SimulatedCluster()
    schedule = Timer.schedule

    def never(self: Timer, deadline_ms: float, action: object) -> TimerTask:
        del action
        return schedule(self, deadline_ms, lambda: None)

    monkeypatch.setattr(Timer, "schedule", never)
    assert "has not run" in told_by_probes(simulated)[0]
