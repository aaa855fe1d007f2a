"""Brokers are killed as far as Kafka promises that nothing is lost."""

from __future__ import annotations

import pytest

from mockbroker.cluster.node_controls import ControlError
from simulation.cluster.page_caches import PageCaches
from tests.support.simulated_cluster import SimulatedCluster

UNFLUSHED = "unflushed"


class Machines:
    """Three brokers with a topic, and what may befall them."""

    def __init__(self) -> None:
        simulated = SimulatedCluster()
        simulated.produce(2)
        self.cluster = simulated.world.cluster
        self.caches = PageCaches(self.cluster)
        self.world = simulated.world
        self.state = self.cluster.metadata.topics["t0"].partitions[0]

    def kill(self, node: int, *, lose: str = "nothing") -> None:
        self.world.operate(lambda: self.caches.kill(node, fence=False, lose=lose))

    def revive(self, node: int) -> None:
        self.world.operate(lambda: self.cluster.controls.revive(node))
        self.world.run_for(1_000)

    def shrink(self, without: int) -> None:
        self.world.operate(lambda: self.cluster.controls.shrink_isr("t0", 0, without))


@pytest.fixture
def machines() -> Machines:
    return Machines()


def test_one_that_lost_its_tail_is_not_left_alone(machines: Machines) -> None:
    machines.kill(1, lose=UNFLUSHED)
    machines.kill(2)
    with pytest.raises(ControlError, match="another one lost"):
        machines.kill(3)
    machines.revive(1)
    machines.kill(3)  # who has registered anew counts no more, or is in sync again


def test_brokers_may_crash_while_nobody_lost_anything(machines: Machines) -> None:
    for node in (1, 2, 3):
        machines.kill(node)
    assert not machines.cluster.brokers


def test_no_tail_is_lost_while_another_broker_is_down_or_behind(machines: Machines) -> None:
    machines.kill(1)
    with pytest.raises(ControlError, match="down"):
        machines.kill(2, lose=UNFLUSHED)
    machines.revive(1)
    leader = machines.cluster.metadata.topics["t0"].partitions[0].leader
    follower = next(node for node in (1, 2, 3) if node != leader)
    machines.world.operate(lambda: machines.cluster.controls.hold_follower("t0", 0, follower))
    machines.shrink(follower)
    with pytest.raises(ControlError, match="not in sync"):
        machines.kill(2, lose=UNFLUSHED)


def test_an_only_replica_keeps_its_tail(machines: Machines) -> None:
    machines.world.operate(lambda: machines.caches.reassign("t0", 0, [3]))
    machines.world.run_for(1_000)
    with pytest.raises(ControlError, match="only one"):
        machines.kill(3, lose=UNFLUSHED)
    machines.kill(2, lose=UNFLUSHED)


def test_a_partition_is_not_left_to_one_that_lost_its_tail(machines: Machines) -> None:
    machines.kill(1, lose=UNFLUSHED)
    with pytest.raises(ControlError, match="nowhere else"):
        machines.caches.reassign("t0", 0, [1])
    machines.world.operate(lambda: machines.caches.reassign("t0", 0, [1, 2]))
