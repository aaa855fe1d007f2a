"""One run of a whole cluster from one seed: `simulate_cluster(seed)` lets it live, heals it, looks.

While it lives, clients work and the operator does what the seed's plan has. Then all is healed, and
the cluster must make progress: every partition has a leader and all its replicas in sync, every
producer gets a batch more into each, every consumer reads to the end, and all replicas are equal.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import TYPE_CHECKING

from mockbroker.metadata.topic_requests import NewTopic
from simulation.cluster.committers import Committer
from simulation.cluster.consumers import ClusterConsumer
from simulation.cluster.operators import ClusterOperator
from simulation.cluster.plan import ClusterPlan
from simulation.cluster.producers import ClusterProducer
from simulation.cluster.supervision import Supervision
from simulation.cluster.truth import Truth
from simulation.cluster.world import ClusterWorld
from simulation.faults import NetworkFaults
from simulation.runner import Report, carry_out

if TYPE_CHECKING:
    from collections.abc import Callable

SETTLING_MS = 60_000.0
"""How long a healed cluster may take until all is well."""


class ClusterRun:
    """The actors of one seed; `plan` in place of the one that the seed gives."""

    def __init__(self, seed: int, plan: ClusterPlan | None = None) -> None:
        self.seed = seed
        self.command = "python -m simulation --cluster"
        plan = self.plan = plan or ClusterPlan(self.stream("plan"))
        self.world = ClusterWorld(
            plan.config(),
            brokers=plan.brokers,
            racks=plan.racks,
            substream=self.stream,
            faults=plan.network,
        )
        self.truth = Truth(self.world)
        self.supervision = Supervision(self.world)
        world, truth = self.world, self.truth
        self.operator = ClusterOperator(world, self.stream("operator"), plan)
        self.producers = [
            ClusterProducer(world, f"producer{n}", self.stream(f"producer{n}"), truth, plan)
            for n in range(plan.producers)
        ]
        self.consumers = [
            ClusterConsumer(world, f"consumer{n}", self.stream(f"consumer{n}"), truth, plan)
            for n in range(plan.consumers)
        ]
        self.committers = [
            Committer(world, f"committer{n}", self.stream(f"committer{n}"), truth, plan)
            for n in range(plan.committers)
        ]
        self._cut_rng = self.stream("cuts")

    def counts(self) -> dict[str, int]:
        """What the run did, by name."""
        return {
            "acknowledged": sum(producer.acknowledged for producer in self.producers),
            "read": sum(consumer.records for consumer in self.consumers),
            "from followers": sum(consumer.from_followers for consumer in self.consumers),
            "offsets": sum(committer.checks for committer in self.committers),
            "elections": self.truth.elections,
            "unclean": self.truth.unclean_elections,
            "fencings": self.supervision.fencings,
        }

    def stream(self, purpose: str) -> Random:
        """The seed's own randomness for one purpose."""
        return Random(f"cluster/{self.seed}/{purpose}")

    def live(self) -> None:
        """From the first topic to the last check."""
        self._create_topics()
        self.operator.start()
        for client in (*self.producers, *self.consumers, *self.committers):
            client.start()
        self._cut_later()
        self.world.run_for(self.plan.active_ms)
        for writer in (*self.producers, *self.committers):
            writer.stop()
        self.operator.heal()
        self.world.faults = NetworkFaults()
        if not self.world.violations and self._settle():
            self._check_logs()

    def _create_topics(self) -> None:
        configs = (("unclean.leader.election.enable", str(self.plan.unclean).lower()),)
        topics = [NewTopic(name, n, configs=configs) for name, n in self.plan.topics.items()]
        self.world.operate(lambda: self.world.cluster.controller.create_topics(topics))

    def _cut_later(self) -> None:
        mean_ms = self.world.faults.cut_every_ms
        if mean_ms:
            self.world.at(self._cut_rng.expovariate(1 / mean_ms), self._cut)

    def _cut(self) -> None:
        """One client's connection breaks."""
        wires = [wire for wire in self.world.wires() if wire.open]
        if wires and self.world.faults.cut_every_ms:
            self._cut_rng.choice(wires).cut(self._cut_rng.random() * 10)
        self._cut_later()

    # -- after the faults ------------------------------------------------------------------

    def _settle(self) -> bool:
        """All gets well: first the cluster, then what its clients still want."""
        world = self.world
        if not world.run_until(lambda: not self._unwell(), SETTLING_MS):
            world.violate(f"the cluster does not get well: {self._unwell()}")
            return False
        for producer in self.producers:
            producer.finish()
        for committer in self.committers:
            committer.finish()
        writers = (*self.producers, *self.committers)
        if not world.run_until(lambda: not any(each.busy for each in writers), SETTLING_MS):
            waiting = [each.name for each in writers if each.busy]
            world.violate(f"{waiting} do not get on")
            return False
        if not world.run_until(lambda: not self._behind(), SETTLING_MS):
            world.violate(f"not all is read or replicated: {self._behind()}")
            return False
        for consumer in self.consumers:
            consumer.stop()
        return True

    def _unwell(self) -> str:
        """A partition without a leader or with a replica that is not in sync; empty: all well."""
        for topic in self.world.cluster.metadata.topics.values():
            for index, state in enumerate(topic.partitions):
                if state.leader < 0 or set(state.isr) != set(state.replicas) or state.adding:
                    return (
                        f"{topic.name}-{index} leader {state.leader} epoch {state.leader_epoch} "
                        f"isr {state.isr} of {state.replicas}"
                    )
        return ""

    def _behind(self) -> str:
        """A consumer that has not read all, or a replica that does not know all."""
        world = self.world
        for topic in world.cluster.metadata.topics.values():
            for index, state in enumerate(topic.partitions):
                leader = world.cluster.broker(state.leader)
                assert leader is not None
                led = leader.services.replicas.partition(topic.name, index)
                end = 0 if led is None or led.log is None else led.log.log_end_offset
                for node in state.replicas:
                    broker = world.cluster.broker(node)
                    assert broker is not None
                    replica = broker.services.replicas.partition(topic.name, index)
                    if replica is None or (end and replica.high_watermark != end):
                        return f"broker {node} with {topic.name}-{index}"
                for consumer in self.consumers:
                    if consumer.positions.get((topic.name, index), end) != end:
                        return f"{consumer.name} with {topic.name}-{index}"
        return ""

    def _check_logs(self) -> None:
        """Replicas are equal, nothing is there twice that may be there once."""
        world = self.world
        once = {value for producer in self.producers for value in producer.once}
        for name, count in self.plan.topics.items():
            for index in range(count):
                truth = self.truth.find(name, index)
                assert truth is not None
                logs = [truth.mirrors[node].entries for node in truth.state.replicas]
                if any(entries != logs[0] for entries in logs):
                    world.violate(f"{truth.name}: the replicas are not equal")
                values = Counter(content.partition(b"=")[2] for _, content in logs[0])
                for value, times in values.items():
                    if times > 1 and value in once:
                        world.violate(f"{truth.name} holds {value!r} {times} times")


def simulate_cluster(seed: int, watch: Callable[[ClusterRun], None] | None = None) -> Report:
    """Run a seed. `watch` is given the run before it starts, for those who want to look in."""
    run = ClusterRun(seed)
    if watch is not None:
        watch(run)
    return carry_out(run)
