"""Large requests fill a broker's memory; all are answered, and what is left is noticed."""

from __future__ import annotations

from random import Random

import pytest

from mockbroker.node.memory_pool import MemoryPool
from mockbroker.node.metered_broker import MeteredBroker
from simulation.cluster.hogs import HOGS, Hog, HogCrew
from simulation.cluster.simulation import ClusterRun, plan_of
from tests.support.simulated_cluster import SimulatedCluster

pytestmark = pytest.mark.sim


def hogs_of(simulated: SimulatedCluster) -> list[Hog]:
    world, truth, plan = simulated.world, simulated.truth, simulated.plan
    return [Hog(world, f"hog{n}", Random(n), truth, plan) for n in range(HOGS)]


def test_all_are_answered_though_some_must_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[int] = []
    let_go_on = MemoryPool.let_go_on

    def counted(pool: MemoryPool) -> list[object]:
        granted = let_go_on(pool)
        waited.append(len(granted))
        return [*granted]

    monkeypatch.setattr(MemoryPool, "let_go_on", counted)
    simulated = SimulatedCluster("memory")
    hogs = hogs_of(simulated)
    for hog in hogs:
        hog.start()
    simulated.world.run_for(18_000)
    assert not simulated.world.violations
    assert sum(hog.answers for hog in hogs) > 20
    assert any(waited)


def test_one_that_is_not_answered_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MemoryPool, "let_go_on", lambda _: [])
    simulated = SimulatedCluster("memory")
    for hog in hogs_of(simulated):
        hog.start()
    assert simulated.world.run_until(lambda: bool(simulated.world.violations), 18_000)
    assert "does not answer a large request" in simulated.world.violations[0]


def test_what_is_left_in_the_pool_is_noticed() -> None:
    plan = plan_of(3)
    plan.on["memory"] = True
    run = ClusterRun(3, plan)
    (crew,) = (crew for crew in run.crews if isinstance(crew, HogCrew))
    assert len(crew.clients) == HOGS
    assert crew.counts() == {"large requests": 0}
    crew.check()
    assert not run.world.violations
    broker = run.world.cluster.brokers[0]
    assert isinstance(broker, MeteredBroker)
    broker.pool.available -= 7
    crew.check()
    assert "broker 1 keeps 7 bytes" in run.world.violations[0]
