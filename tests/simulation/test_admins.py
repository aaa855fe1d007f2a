"""The admin changes what is there, and asks first after a lost answer."""

from __future__ import annotations

from simulation.faults import NetworkFaults
from tests.support.simulated import TOPICS, Simulated


def test_an_admin_without_faults_leaves_topics_alone() -> None:
    simulated = Simulated()
    admin = simulated.admin()
    admin.start()
    simulated.world.run_for(500)
    topics = simulated.world.cluster.metadata.topics.values()
    assert {topic.name: len(topic.partitions) for topic in topics} == TOPICS


def test_topics_go_come_back_and_grow() -> None:
    simulated = Simulated()
    simulated.plan.on.update(delete_topics=True, add_partitions=True)
    simulated.plan.segment_bytes = 700
    ids = {topic.topic_id for topic in simulated.ledger.logs()}
    admin = simulated.admin()
    admin.start()
    simulated.world.run_for(1_000)
    admin.stop()
    assert simulated.world.run_until(lambda: admin.idle, 100)
    logs = simulated.ledger.logs()
    assert len({log.topic_id for log in logs}) > len(ids) + 1
    assert max(log.index for log in logs) > 1
    assert simulated.violations == []


def test_nothing_is_done_twice_when_answers_are_lost() -> None:
    simulated = Simulated(NetworkFaults(lose_chance=0.3))
    simulated.plan.on.update(delete_topics=True, add_partitions=True)
    simulated.admin().start()
    simulated.world.run_for(2_000)
    assert simulated.violations == []


def test_a_refusal_is_told() -> None:
    simulated = Simulated()
    admin = simulated.admin()
    admin.start()
    admin.create("t0", 1)
    simulated.world.run_for(1)
    assert "create t0 answers 36" in simulated.violations[0]
