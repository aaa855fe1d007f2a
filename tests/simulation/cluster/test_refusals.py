"""Every replica refuses what it must, and each reason is among those that are asked."""

from __future__ import annotations

from simulation.clients import ask_at_once
from simulation.cluster.refusals import REFUSED, of_partition
from tests.support.simulated_cluster import SimulatedCluster


def test_a_partition_refuses_all_of_them() -> None:
    simulated = SimulatedCluster()
    world = simulated.world
    simulated.produce(2)
    leader = world.cluster.metadata.topics["t0"].partitions[0].leader
    world.operate(lambda: world.controls.kill(leader))  # an election: there is an older epoch
    world.run_for(1_500)
    world.operate(lambda: world.controls.revive(leader))
    world.run_for(1_500)
    simulated.produce(1)
    asked = set()
    for broker in world.cluster.brokers:
        partition = broker.services.replicas.partition("t0", 0)
        assert partition is not None
        for refusal in of_partition(broker, partition, world.now_ms):
            answer = ask_at_once(world, broker, refusal.request, refusal.version)
            assert refusal.error_of(answer) == refusal.wanted, refusal.what
            asked.add(refusal.what.rstrip("0123456789"))
    assert {
        "a fetch in an older epoch",
        "a fetch in a newer epoch",
        "a stranger's fetch",
        "a fetch of an older registration",
        "a look-up in epoch ",
        "the end of an epoch, asked in ",
        "acks=",
        "a batch for another leader",
        "a DeleteRecords beyond the high watermark",
    } <= asked
    assert not any(
        REFUSED in bytes(batch) for _, batch in simulated.leader_log().iterate_batches(0)
    )


def test_producers_are_told_apart_by_epoch_and_sequence() -> None:
    simulated = SimulatedCluster()
    world = simulated.world
    simulated.produce(2)
    leader = world.cluster.metadata.topics["t0"].partitions[0].leader
    broker = world.cluster.broker(leader)
    assert broker is not None
    partition = broker.services.replicas.partition("t0", 0)
    assert partition is not None
    gaps = [one for one in of_partition(broker, partition, world.now_ms) if "a gap of" in one.what]
    assert gaps
    for refusal in gaps:
        answer = ask_at_once(world, broker, refusal.request, refusal.version)
        assert refusal.error_of(answer) == refusal.wanted
