"""How the coordinators' own topics are made: their counts and configs, as Kafka has them.

The controller asks when a coordinator first needs its topic, or a Metadata request names it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.metadata.names import (
    GROUP_METADATA_TOPIC,
    INDIVIDUAL_COMMITS_TOPIC,
    SHARE_GROUP_STATE_TOPIC,
    TRANSACTION_STATE_TOPIC,
)
from mockbroker.metadata.topic_requests import NewTopic

if TYPE_CHECKING:
    from mockbroker.config.broker import BrokerConfig


def internal_topic(name: str, config: BrokerConfig) -> NewTopic:
    """The topic of a coordinator (Kafka: DefaultAutoTopicCreationManager.creatableTopic)."""
    prefix = _CONFIG_PREFIXES[name]
    if name == INDIVIDUAL_COMMITS_TOPIC:
        segment_bytes = str(config.int("individual.commit.log.segment.bytes"))
    else:
        segment_bytes = str(config.int(f"{prefix}.segment.bytes"))
    configs: dict[str, str | None]
    if name in (GROUP_METADATA_TOPIC, INDIVIDUAL_COMMITS_TOPIC):
        # Kafka: GroupCoordinatorService.groupMetadataTopicConfigs.
        configs = {
            "cleanup.policy": "compact",
            "compression.type": "producer",
            "segment.bytes": segment_bytes,
        }
    elif name == TRANSACTION_STATE_TOPIC:
        # Kafka: TransactionStateManager.transactionTopicConfigs.
        configs = {
            "unclean.leader.election.enable": "false",
            "compression.type": "uncompressed",
            "cleanup.policy": "compact",
            "min.insync.replicas": str(config.int(f"{prefix}.min.isr")),
            "segment.bytes": segment_bytes,
        }
    else:
        # Kafka: ShareCoordinatorService.shareGroupStateTopicConfigs.
        configs = {
            "cleanup.policy": "delete",
            "compression.type": "producer",
            "segment.bytes": segment_bytes,
            "retention.ms": "-1",
            "min.insync.replicas": str(config.int(f"{prefix}.min.isr")),
        }
    return NewTopic(
        name,
        config.int(f"{prefix}.num.partitions"),
        config.int(f"{prefix}.replication.factor"),
        configs=tuple(configs.items()),
    )


_CONFIG_PREFIXES = {
    GROUP_METADATA_TOPIC: "offsets.topic",
    INDIVIDUAL_COMMITS_TOPIC: "offsets.topic",
    TRANSACTION_STATE_TOPIC: "transaction.state.log",
    SHARE_GROUP_STATE_TOPIC: "share.coordinator.state.topic",
}
