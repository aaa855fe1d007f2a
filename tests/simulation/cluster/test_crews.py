"""A crew hires by name, lets writers finish and readers read on."""

from __future__ import annotations

from random import Random

from simulation.cluster.consumers import ClusterConsumer
from simulation.cluster.crews import Crew, CrewSetting
from simulation.cluster.operators import ClusterOperator
from simulation.cluster.producers import ClusterProducer
from tests.support.simulated_cluster import SimulatedCluster


def test_a_crew_works_and_is_done() -> None:
    simulated = SimulatedCluster()
    world, plan = simulated.world, simulated.plan
    plan.without = ["producer0"]
    operator = ClusterOperator(world, Random(1), plan)
    setting = CrewSetting(world, simulated.truth, plan, operator, Random)
    crew = Crew(setting)
    producers = setting.hire(ClusterProducer, "producer", 2)
    assert [each.name for each in producers] == ["producer1"]
    crew.clients = [*producers, *setting.hire(ClusterConsumer, "consumer", 1)]
    crew.start()
    world.run_for(500)
    assert crew.busy() == ["producer1"]
    crew.stop()
    assert world.run_until(lambda: not crew.busy(), 5_000)
    crew.finish()
    assert crew.busy() == ["producer1"]
    assert world.run_until(lambda: not crew.busy(), 5_000)
    assert crew.clients[1].busy
    assert crew.behind() == ""
    assert not crew.counts()
