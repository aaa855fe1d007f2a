"""A trial is made as often as its chance says, and what it finds is told."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from simulation.cluster.audits.trials import Trials
from tests.support.simulated_cluster import SimulatedCluster

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mockbroker.node.broker import Broker


class Wrong(Trials):
    """Always finds something."""

    def try_one(self, broker: Broker) -> Iterator[str]:
        yield f"{broker.broker_id} is wrong"


def test_a_trial_is_made_by_chance() -> None:
    broker = SimulatedCluster().world.cluster.brokers[0]
    for chance, least, most in ((0.0, 0, 0), (0.5, 30, 70), (1.0, 100, 100)):
        Wrong.chance = chance
        trials = Wrong(Random(1))
        found = [wrong for _ in range(100) for wrong in trials.look(broker)]
        assert least <= len(found) <= most
        assert {*found} <= {f"{broker.broker_id} is wrong"}
