"""A coordinator is stopped while its writes wait, and answers before it is gone."""

from __future__ import annotations

from random import Random

import pytest

from mockbroker.coordinator.runtime import CoordinatorRuntime
from simulation.cluster.audits.deaf_stops import DeafStops
from simulation.cluster.audits.runtime_audits import unanswered_writes
from simulation.cluster.operators import ClusterOperator
from tests.support.simulated_groups import SimulatedGroup

pytestmark = pytest.mark.sim


def told() -> tuple[int, list[str]]:
    """How often a coordinator was stopped, and what it had not answered then."""
    group = SimulatedGroup("consumer", 3)
    world = group.world
    operator = ClusterOperator(world, Random(1), group.simulated.plan)
    DeafStops(operator)
    operator.acts["deaf_stop"]()  # there is no coordinator yet
    assert not operator.steps
    group.settle()
    stopped, found = [0], list[str]()

    def leaves(node: int) -> None:
        broker = world.cluster.broker(node)
        assert broker is not None
        stopped[0] += 1
        found.extend(unanswered_writes(broker).values())

    world.on_leaving.append(leaves)
    for _ in range(4):
        operator.acts["deaf_stop"]()
        world.run_for(1_500)
    operator.heal()
    group.settle()
    return stopped[0], found


def test_who_waits_is_answered() -> None:
    stopped, found = told()
    assert stopped > 2
    assert found == []


def test_who_is_forgotten_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CoordinatorRuntime, "release_deferred", lambda _: None)
    assert "is not answered" in told()[1][0]
