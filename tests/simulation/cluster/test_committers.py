"""Committers find what they committed at whichever broker coordinates."""

from __future__ import annotations

from random import Random

from simulation.cluster.committers import Committer
from tests.support.simulated_cluster import SimulatedCluster


def committer_of(simulated: SimulatedCluster) -> Committer:
    return Committer(simulated.world, "group", Random(1), simulated.truth, simulated.plan)


def test_offsets_outlive_their_coordinator() -> None:
    simulated = SimulatedCluster()
    world, committer = simulated.world, committer_of(simulated)
    committer.start()
    world.run_for(2_000)
    before, checks = committer.acknowledged, committer.checks
    assert before > 0
    assert checks > 0
    leader = world.cluster.metadata.topics["__consumer_offsets"].partitions[0].leader
    world.operate(lambda: world.controls.kill(leader))
    world.run_for(3_000)
    assert committer.acknowledged > before
    assert committer.checks > checks
    assert not world.violations


def test_an_offset_that_nobody_committed_is_noticed() -> None:
    simulated = SimulatedCluster()
    committer = committer_of(simulated)
    committer.start()
    simulated.world.run_for(2_000)
    committer.acknowledged = committer.tried = 1_000
    simulated.world.run_until(lambda: bool(simulated.world.violations), 2_000)
    assert "knows offset" in simulated.world.violations[0]
