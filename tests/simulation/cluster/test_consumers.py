"""Consumers read what is committed, from the leader or from their rack."""

from __future__ import annotations

from tests.support.simulated_cluster import SimulatedCluster


def test_a_consumer_reads_all_from_the_leader() -> None:
    simulated = SimulatedCluster()
    simulated.consumer.rack = ""
    simulated.consumer.start()
    simulated.produce(5)
    simulated.world.run_for(1_000)
    assert simulated.consumer.records == simulated.producer.acknowledged > 0
    assert simulated.consumer.from_followers == 0
    assert not simulated.world.violations


def test_a_consumer_in_a_rack_reads_from_its_follower_until_that_dies() -> None:
    simulated = SimulatedCluster()
    world = simulated.world
    state = world.cluster.metadata.topics["t0"].partitions[0]
    follower = next(node for node in state.isr if node != state.leader)
    simulated.consumer.rack = f"r{follower}"
    simulated.produce(5)
    simulated.consumer.start()
    world.run_for(1_000)
    seen = simulated.consumer.from_followers
    assert seen == simulated.consumer.records == simulated.producer.acknowledged
    world.operate(lambda: world.controls.kill(follower))
    simulated.produce(5)
    world.run_for(3_000)
    assert simulated.consumer.records == simulated.producer.acknowledged > seen
    assert simulated.consumer.from_followers == seen
