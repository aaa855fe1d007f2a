"""Trials of the simulation, made many times on a cluster that has a few records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.simulated_cluster import SimulatedCluster

if TYPE_CHECKING:
    from simulation.cluster.audits.trials import Trials


def tried(trials: Trials, looks: int, records: int) -> str:
    """What is found wrong; some are made."""
    simulated = SimulatedCluster()
    simulated.produce(records)
    found = [
        wrong
        for _ in range(looks)
        for broker in simulated.world.cluster.brokers
        for wrong in trials.look(broker)
    ]
    assert trials.tried
    assert not simulated.world.violations
    return " | ".join(found)
