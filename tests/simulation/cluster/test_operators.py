"""The operator disturbs with whatever the plan has, and undoes all of it."""

from __future__ import annotations

from random import Random

import pytest

from simulation.cluster.operators import ClusterOperator
from simulation.cluster.plan import KINDS
from tests.support.simulated_cluster import SimulatedCluster

OPERATED = [kind for kind in KINDS if kind not in ("cut_clients", "delays")]


@pytest.mark.parametrize("kind", OPERATED)
def test_every_act_is_undone_by_healing(kind: str) -> None:
    simulated = SimulatedCluster()
    simulated.plan.on[kind] = True
    simulated.plan.every_ms = 100.0
    world = simulated.world
    simulated.produce(2)
    operator = ClusterOperator(world, Random(kind), simulated.plan)
    operator.start()
    world.run_for(2_000)
    assert any(f" {'operator':<12} " in line for line in world.trace.last())
    operator.heal()
    world.run_for(5_000)
    assert len(world.cluster.brokers) == 3
    for topic in world.cluster.metadata.topics.values():
        for state in topic.partitions:
            assert set(state.isr) == set(state.replicas)
    assert not world.violations
