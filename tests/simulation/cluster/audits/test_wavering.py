"""A broker hears in one step that it leads, and no more, and does: it has loaded its log then."""

from __future__ import annotations

from random import Random

import pytest

from mockbroker.coordinator.leadership import CoordinatorLeadership
from mockbroker.metadata.names import GROUP_METADATA_TOPIC
from mockbroker.replica.partition import Partition
from simulation.cluster.audits.runtime_audits import wrong_groups
from simulation.cluster.audits.wavering import Wavering
from simulation.cluster.operators import ClusterOperator
from tests.support.simulated_groups import SimulatedGroup

pytestmark = pytest.mark.sim


def test_a_lead_is_won_and_lost_and_won_in_one_step(monkeypatch: pytest.MonkeyPatch) -> None:
    group = SimulatedGroup("eager", 2)
    world = group.world
    operator = ClusterOperator(world, Random(1), group.simulated.plan)
    Wavering(operator)
    operator.acts["wavering"]()  # there is no such topic yet
    assert not operator.steps
    group.settle()
    changed = CoordinatorLeadership.role_changed
    roles: list[tuple[int, bool]] = []

    def told(self: CoordinatorLeadership, partition: Partition) -> None:
        if partition.topic == GROUP_METADATA_TOPIC:
            roles.append((world.steps, partition.is_leader))
        changed(self, partition)

    monkeypatch.setattr(CoordinatorLeadership, "role_changed", told)
    for _ in range(4):
        operator.acts["wavering"]()
        world.run_for(100)
    steps = [step for step, leads in roles if leads]
    assert max(steps.count(step) for step in steps) > 1
    rng = Random(1)
    for broker in world.cluster.brokers:
        assert list(wrong_groups(broker, rng)) == []
    group.settle()
