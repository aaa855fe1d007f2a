"""Configs in force that are not what they follow from are noticed."""

from __future__ import annotations

from mockbroker.config.group import GroupConfig
from mockbroker.config.topic import TopicConfig
from mockbroker.metadata.changes import ConfigsChanged
from mockbroker.metadata.store import RESOURCE_GROUP
from simulation.cluster.audits.store_audits import wrong_configs
from tests.support.simulated_cluster import SimulatedCluster

SESSION = "consumer.session.timeout.ms"


def test_configs_in_force_are_those_of_the_resource_over_the_brokers() -> None:
    (broker, *_) = SimulatedCluster().world.cluster.brokers
    metadata = broker.services.metadata
    metadata.apply(ConfigsChanged(RESOURCE_GROUP, "g", {SESSION: "50000"}))
    assert not list(wrong_configs(broker))
    metadata._group_configs["g"] = GroupConfig({}, metadata.config)
    (wrong,) = wrong_configs(broker)
    assert wrong.startswith(f"{SESSION} of group g is ")
    metadata._group_configs.clear()
    metadata.topics["t0"].config = TopicConfig({"flush.ms": "7"}, metadata.config)
    (wrong,) = wrong_configs(broker)
    assert wrong.startswith("flush.ms of t0 is 7, not ")
