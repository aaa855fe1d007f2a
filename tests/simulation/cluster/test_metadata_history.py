"""What a broker tells of the metadata is held against what they were."""

from __future__ import annotations

import pytest

from mockbroker.metadata.changes import LeaderChanged, PartitionsAdded, PartitionState, TopicCreated
from mockbroker.metadata.client_quotas import QuotaAlteration
from mockbroker.metadata.features import FEATURES, FeatureUpdate
from mockbroker.metadata.store import RESOURCE_BROKER, RESOURCE_GROUP
from mockbroker.metadata.topic_requests import (
    ConfigAlteration,
    NewPartitions,
    NewTopic,
    TopicReference,
)
from simulation.cluster.metadata_history import ACLS, MetadataHistory, resource, topic, value_in
from tests.support.simulated_cluster import SimulatedCluster

ENTITY = (("user", "u"),)
QUOTA = "quota", ENTITY


def alter_quota(simulated: SimulatedCluster, rate: float | None) -> None:
    alteration = QuotaAlteration(ENTITY, [("producer_byte_rate", rate)])
    controller = simulated.world.cluster.controller
    simulated.world.operate(
        lambda: controller.alter_client_quotas([alteration], validate_only=False)
    )


def test_only_what_was_there_may_be_told_and_nothing_older_than_before() -> None:
    simulated = SimulatedCluster()
    history = MetadataHistory(simulated.world)
    assert history.position(QUOTA) == 0
    alter_quota(simulated, 5.0)
    alter_quota(simulated, None)
    assert history.values(QUOTA) == [{}, {"producer_byte_rate": 5.0}, {}]
    alter_quota(simulated, 7.0)
    assert history.tell(1, QUOTA, {"producer_byte_rate": 5.0}, history.since(1, QUOTA)) is None
    wrong = history.tell(2, QUOTA, {"producer_byte_rate": 6.0}, 0)
    assert wrong is not None
    assert "which it never was" in wrong
    assert history.tell(1, QUOTA, {"producer_byte_rate": 7.0}, history.since(1, QUOTA)) is None
    wrong = history.tell(1, QUOTA, {}, history.since(1, QUOTA))
    assert wrong is not None
    assert "after" in wrong
    assert history.tell(2, QUOTA, {}, history.since(2, QUOTA)) is None


def test_every_sort_of_subject_is_followed() -> None:
    simulated = SimulatedCluster()
    history, controller = MetadataHistory(simulated.world), simulated.world.cluster.controller
    group, default = resource(RESOURCE_GROUP, "g"), resource(RESOURCE_BROKER, "")
    feature = "feature", "group.version"
    for subject in (topic("new"), group, default, feature, ACLS):
        history.values(subject)
    controller.create_topics([NewTopic("new", 1)])
    controller.create_partitions([NewPartitions("new", 2)])
    controller.delete_topics([TopicReference("new")])
    counts = [value[1] for value in history.values(topic("new")) if isinstance(value, tuple)]
    assert counts == [1, 2]
    assert history.values(topic("new"))[-1] is None
    changes = [
        ConfigAlteration(RESOURCE_GROUP, "g", [("consumer.session.timeout.ms", 0, "50000")]),
        ConfigAlteration(RESOURCE_BROKER, "", [("log.cleaner.backoff.ms", 0, "9")]),
    ]
    assert not any(refusal.error for refusal in controller.alter_configs(changes))
    assert history.values(group)[-1] == {"consumer.session.timeout.ms": "50000"}
    assert "log.cleaner.backoff.ms" in str(history.values(default)[-1])
    update = FeatureUpdate("group.version", 0, 2)
    controller.update_features([update], FEATURES, 1, validate_only=False)
    assert history.values(feature) == [1, 0]
    assert value_in(simulated.world.cluster.metadata, ACLS) == frozenset()


@pytest.mark.parametrize(
    ("leader", "replicas", "epoch", "is_told"),
    [
        (1, [1, 2], 3, True),
        (2, [1, 2, 3], 3, True),
        (2, [1, 2], 4, False),
        (1, [1, 2, 3, 4], 3, False),
    ],
)
def test_a_leader_epoch_that_should_have_grown_is_told(
    leader: int, replicas: list[int], epoch: int, *, is_told: bool
) -> None:
    simulated = SimulatedCluster()
    history = MetadataHistory(simulated.world)
    for state in (
        PartitionState(1, [1, 2, 3], [1, 2, 3], 3),
        PartitionState(leader, replicas, [1, 2], epoch),
    ):
        history._on_change(LeaderChanged("t0", bytes(16), 0, state))
    told = "\n".join(simulated.world.violations)
    assert ("t0-0 went from" in told) is is_told


def test_partitions_that_came_anew_have_no_epoch_before() -> None:
    simulated = SimulatedCluster()
    history = MetadataHistory(simulated.world)
    led, anew = PartitionState(1, [1, 2], [1], 3), PartitionState(2, [2, 1], [2], 0)
    for change in (
        LeaderChanged("t0", bytes(16), 1, led),
        PartitionsAdded("t0", bytes(16), 1, [anew]),
        LeaderChanged("t0", bytes(16), 1, anew),
        LeaderChanged("t0", bytes(16), 0, led),
        TopicCreated("t0", bytes(16), [anew], {}),
        LeaderChanged("t0", bytes(16), 0, anew),
    ):
        history._on_change(change)
    assert simulated.world.violations == []


def test_an_image_that_differs_is_noticed() -> None:
    simulated = SimulatedCluster()
    history = MetadataHistory(simulated.world)
    alter_quota(simulated, 5.0)
    assert history.differences() == []
    broker = simulated.world.cluster.broker(2)
    assert broker is not None
    broker.services.metadata.client_quotas.clear()
    (wrong,) = history.differences()
    assert wrong.startswith("broker 2 has quotas {}")
