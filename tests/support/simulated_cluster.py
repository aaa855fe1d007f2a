"""A simulated cluster without faults: three brokers in racks, a topic, a producer, a reader."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from mockbroker.metadata.topic_requests import NewTopic
from simulation.cluster.consumers import ClusterConsumer
from simulation.cluster.plan import ClusterPlan
from simulation.cluster.producers import ClusterProducer
from simulation.cluster.truth import Truth
from simulation.cluster.world import ClusterWorld
from simulation.faults import NetworkFaults

if TYPE_CHECKING:
    from mockbroker.log.unified_log import UnifiedLog
    from mockbroker.metadata.changes import PartitionState
    from mockbroker.replica.partition import Partition


class Listener:
    """A client's end that writes down what it hears."""

    def __init__(self) -> None:
        self.data = b""
        self.lost = 0

    def data_received(self, data: bytes) -> None:
        self.data += data

    def connection_lost(self) -> None:
        self.lost += 1


class SimulatedCluster:
    """Topic `t0` with one partition; producer and consumer have not begun. `kinds` are on."""

    def __init__(self, *kinds: str) -> None:
        plan = self.plan = ClusterPlan(Random(0))
        plan.on = {kind: kind in kinds for kind in plan.on}
        plan.brokers, plan.racks = 3, ["r1", "r2", "r3"]
        plan.topics = {"t0": 1}
        plan.min_isr, plan.unclean = 2, False
        plan.group_times.max_size = 1_000
        self.world = ClusterWorld(
            plan.config(),
            brokers=3,
            racks=plan.racks,
            substream=lambda purpose: Random(f"0/{purpose}"),
            faults=NetworkFaults(),
        )
        self.truth = Truth(self.world)
        self.world.operate(lambda: self.world.cluster.controller.create_topics([NewTopic("t0", 1)]))
        self.producer = ClusterProducer(self.world, "producer", Random(1), self.truth, plan)
        self.producer.acks, self.producer.idempotent = -1, True
        self.consumer = ClusterConsumer(self.world, "consumer", Random(2), self.truth, plan)

    def produce(self, batches: int) -> None:
        """Let the producer get so many batches more into each partition."""
        self.producer.stop()
        for _ in range(batches):
            self.producer.finish()
            assert self.world.run_until(lambda: not self.producer.busy, 5_000)

    def leader_log(self) -> UnifiedLog:
        """The log of the leader of t0-0."""
        return self._log(self._state().leader)

    def follower_log(self) -> UnifiedLog:
        """The log of a follower of t0-0."""
        return self._log(self.follower())

    def follower(self) -> int:
        """The first follower of t0-0."""
        state = self._state()
        return next(node for node in state.replicas if node != state.leader)

    def _state(self) -> PartitionState:
        return self.world.cluster.metadata.topics["t0"].partitions[0]

    def partition_at(self, node: int) -> Partition:
        """A broker's replica of t0-0."""
        broker = self.world.cluster.broker(node)
        assert broker is not None
        partition = broker.services.replicas.partition("t0", 0)
        assert partition is not None
        return partition

    def _log(self, node: int) -> UnifiedLog:
        log = self.partition_at(node).log
        assert log is not None
        return log
