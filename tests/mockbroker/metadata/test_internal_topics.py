"""The coordinators' topics have Kafka's counts and configs."""

from __future__ import annotations

import pytest

from mockbroker.config.broker import BrokerConfig
from mockbroker.metadata.internal_topics import internal_topic


@pytest.mark.parametrize(
    ("name", "configs"),
    [
        (
            "__consumer_offsets",
            {
                "cleanup.policy": "compact",
                "compression.type": "producer",
                "segment.bytes": "104857600",
            },
        ),
        (
            "__transaction_state",
            {
                "cleanup.policy": "compact",
                "compression.type": "uncompressed",
                "min.insync.replicas": "1",
                "segment.bytes": "104857600",
                "unclean.leader.election.enable": "false",
            },
        ),
        (
            "__share_group_state",
            {
                "cleanup.policy": "delete",
                "compression.type": "producer",
                "min.insync.replicas": "1",
                "retention.ms": "-1",
                "segment.bytes": "104857600",
            },
        ),
    ],
)
def test_counts_and_configs(name: str, configs: dict[str, str]) -> None:
    topic = internal_topic(name, BrokerConfig())
    assert (topic.name, topic.num_partitions, topic.replication_factor) == (name, 50, 1)
    assert dict(topic.configs) == configs


def test_the_brokers_configs_decide() -> None:
    config = BrokerConfig({"offsets.topic.num.partitions": "3"})
    assert internal_topic("__consumer_offsets", config).num_partitions == 3
