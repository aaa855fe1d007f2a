"""Steps are performed by name, tell when they are refused, and print as what makes them."""

from __future__ import annotations

from simulation.cluster.steps import Step, Verbs
from tests.support.simulated_cluster import SimulatedCluster


def test_a_step_prints_as_what_makes_it() -> None:
    step = Step(12.5, "kill", node_id=1, fence=False)
    assert repr(step) == 'Step(12.5, "kill", node_id=1, fence=False)'
    assert repr(eval(repr(step))) == repr(step)
    assert repr(step.at(3.0)) == 'Step(3.0, "kill", node_id=1, fence=False)'
    assert step.told() == "kill 1 False"


def test_a_verb_is_a_control_of_the_cluster_or_added() -> None:
    simulated = SimulatedCluster()
    world = simulated.world
    verbs = Verbs(world.cluster)
    told: list[int] = []

    def tell(number: int) -> None:
        told.append(number)

    verbs.add("tell", tell)
    assert verbs.perform(Step(0.0, "tell", number=3))
    assert verbs.perform(Step(0.0, "kill", node_id=1))
    assert not verbs.perform(Step(0.0, "kill", node_id=1))
    assert told == [3]
    assert world.cluster.broker(1) is None


def test_topics_come_grow_and_go() -> None:
    simulated = SimulatedCluster()
    topics = simulated.world.cluster.metadata.topics
    verbs = Verbs(simulated.world.cluster)
    verbs.perform(Step(0.0, "create_topic", topic="x"))
    verbs.perform(Step(0.0, "grow_topic", topic="x", count=3))
    verbs.perform(Step(0.0, "set_min_isr", topic="x", count=1))
    assert len(topics["x"].partitions) == 3
    assert topics["x"].config.int("min.insync.replicas") == 1
    verbs.perform(Step(0.0, "delete_topic", topic="x"))
    assert "x" not in topics
