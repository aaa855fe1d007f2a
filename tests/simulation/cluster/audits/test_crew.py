"""Logs are looked at when they are cut, in turn while they grow, and at rest."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from simulation.cluster.audits.crew import AuditCrew
from simulation.cluster.crews import CrewSetting
from simulation.cluster.operators import ClusterOperator
from tests.support.simulated_cluster import SimulatedCluster

if TYPE_CHECKING:
    import pytest

    from mockbroker.log.unified_log import UnifiedLog
    from mockbroker.node.broker import Broker


def crew_of(simulated: SimulatedCluster) -> AuditCrew:
    world, plan = simulated.world, simulated.plan
    operator = ClusterOperator(world, Random(0), plan)
    return AuditCrew(CrewSetting(world, simulated.truth, plan, operator, lambda _: Random(0)))


def test_each_log_is_looked_at_once_it_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[UnifiedLog] = []

    def look(log: UnifiedLog, _: Random, *, may_be_cut: bool, passed: int) -> list[str]:
        assert not may_be_cut
        assert passed >= log.high_watermark
        looked.append(log)
        return []

    monkeypatch.setattr("simulation.cluster.audits.crew.wrong_with", look)
    simulated = SimulatedCluster()
    crew = crew_of(simulated)
    crew.start()
    simulated.produce(2)
    crew.check()
    assert simulated.leader_log() in looked
    assert not simulated.world.violations
    looked.clear()
    log = simulated.follower_log()
    simulated.world.operate(lambda: log.truncate_to(1))
    assert looked == [log]


def test_what_is_wrong_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("simulation.cluster.audits.crew.wrong_with", lambda *_, **__: ["too short"])
    simulated = SimulatedCluster()
    crew = crew_of(simulated)
    simulated.produce(1)
    crew.check()
    assert "too short" in simulated.world.violations[0]


def test_trials_are_made_and_what_they_find_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    simulated = SimulatedCluster()
    crew = crew_of(simulated)
    crew.start()
    simulated.produce(2)
    simulated.world.run_for(3_000)
    assert crew.counts()["trials"]
    assert not simulated.world.violations
    for trials in crew.trials:
        monkeypatch.setattr(trials, "look", lambda _: ["not so"])
    simulated.world.run_for(200)
    assert "not so" in simulated.world.violations[0]


def test_a_coordinator_that_begins_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []

    def look(broker: Broker, _: Random) -> list[str]:
        looked.append(broker.broker_id)
        return ["no group is right"]

    monkeypatch.setattr("simulation.cluster.audits.crew.wrong_groups", look)
    simulated = SimulatedCluster()
    crew_of(simulated)
    world, name = simulated.world, "__consumer_offsets"
    world.operate(lambda: world.cluster.controller.ensure_internal_topic(name))
    world.run_for(1)
    before = world.cluster.metadata.topics[name].partitions[0].leader
    looked.clear()
    to = 1 + before % 3
    world.operate(lambda: world.controls.move_leader(name, 0, to))
    world.run_for(1)
    assert looked == [to]
    assert f"broker {to} has begun: no group is right" in world.violations[-1]
