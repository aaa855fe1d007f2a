"""Producers insist until their batch is there, and are held to what they were told."""

from __future__ import annotations

from tests.support.simulated_cluster import SimulatedCluster


def test_a_batch_survives_its_leader() -> None:
    simulated = SimulatedCluster()
    world, producer = simulated.world, simulated.producer
    producer.start()
    world.run_for(200)
    leader = world.cluster.metadata.topics["t0"].partitions[0].leader
    world.operate(lambda: world.controls.kill(leader))
    before = producer.acknowledged
    world.run_for(3_000)
    producer.stop()
    assert world.run_until(lambda: not producer.busy, 5_000)
    assert producer.acknowledged > before > 0
    assert not world.violations


def test_in_the_end_every_partition_gets_a_batch() -> None:
    simulated = SimulatedCluster()
    producer = simulated.producer
    producer.stop()
    producer.finish()
    assert simulated.world.run_until(lambda: not producer.busy, 5_000)
    truth = simulated.truth.find("t0", 0)
    assert truth is not None
    assert len(truth.committed) == producer.acknowledged > 0
    assert set(producer.once) == {entry[1][1:] for entry in truth.committed if entry}
