"""An inquirer at a simulated cluster, and whether a question notices an answer that is wrong."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from simulation.cluster.inquirers import Inquirer
from tests.support.simulated_cluster import SimulatedCluster

if TYPE_CHECKING:
    from collections.abc import Callable

    from simulation.cluster.metadata_inquiries import Asker

TRIES = 60


def inquirer_of(simulated: SimulatedCluster) -> Inquirer:
    """One who asks broker 1."""
    inquirer = Inquirer(simulated.world, "i", Random(4), simulated.truth, simulated.plan)
    inquirer.node, inquirer.broker = 1, simulated.world.cluster.brokers[0]
    return inquirer


def asked(inquirer: Inquirer, question: Callable[[Asker], None]) -> list[str]:
    """What is wrong when it is asked again and again."""
    for _ in range(TRIES):
        question(inquirer)
    return inquirer.world.violations
