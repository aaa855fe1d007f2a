"""The admin makes what it is told that it made, and notices what is not so."""

from __future__ import annotations

from random import Random

import pytest

from mockbroker.metadata import controller
from mockbroker.metadata.topic_requests import CreatedTopic, NewTopic
from simulation.cluster import cluster_admins
from simulation.cluster.cluster_admins import ClusterAdmin
from simulation.cluster.metadata_history import MetadataHistory
from tests.support.simulated_cluster import SimulatedCluster

pytestmark = pytest.mark.sim


def admin_of(simulated: SimulatedCluster) -> ClusterAdmin:
    history = MetadataHistory(simulated.world)
    return ClusterAdmin(
        simulated.world, "admin", Random(3), simulated.truth, simulated.plan, history
    )


def test_an_admin_changes_is_refused_and_looks() -> None:
    simulated = SimulatedCluster("admin")
    admin = admin_of(simulated)
    admin.start()
    simulated.world.run_for(4_000)
    admin.stop()
    admin.finish()
    assert simulated.world.run_until(lambda: not admin.busy, 2_000)
    assert admin.made > 10
    assert admin.refused > 10
    assert admin.looks > 10
    assert not simulated.world.violations
    assert not admin.history.differences()


def _created_and_not_made(_: object, topic: NewTopic) -> tuple[CreatedTopic, None]:
    return CreatedTopic(topic.name), None


def test_a_change_that_is_acknowledged_and_not_made_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    simulated = SimulatedCluster()
    monkeypatch.setattr(controller.Controller, "_create", _created_and_not_made)
    admin = admin_of(simulated)
    admin.start()
    found = simulated.world.run_until(
        lambda: any("was acknowledged; since then" in one for one in simulated.world.violations),
        3_000,
    )
    assert found


def test_a_change_that_was_to_be_validated_and_is_made_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    simulated = SimulatedCluster()
    monkeypatch.setattr(cluster_admins, "VALIDATED", 1.0)
    create = controller.Controller.creating_topics
    monkeypatch.setattr(
        controller.Controller, "creating_topics", lambda self, topics, **_: create(self, topics)
    )
    admin = admin_of(simulated)
    admin.start()
    found = simulated.world.run_until(
        lambda: any("to be validated, and was made" in one for one in simulated.world.violations),
        5_000,
    )
    assert found


def test_another_error_than_the_one_of_apache_kafka_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    simulated = SimulatedCluster()
    monkeypatch.setattr(controller, "MAX_RECORDS_PER_REQUEST", 10**6)
    monkeypatch.setattr(controller.Controller, "_refuse_name", lambda *_: None)
    admin = admin_of(simulated)
    admin.start()
    assert simulated.world.run_until(lambda: bool(simulated.world.violations), 5_000)
