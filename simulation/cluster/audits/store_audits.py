"""The configs in force, held against what they follow from: the resource's, over the broker's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.config.group import GroupConfig
from mockbroker.config.topic import TopicConfig
from mockbroker.metadata.store import RESOURCE_GROUP

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mockbroker.node.broker import Broker

OF_TOPICS: Final = ("flush.ms", "min.insync.replicas", "retention.ms", "max.message.bytes")
OF_GROUPS: Final = ("consumer.session.timeout.ms", "consumer.heartbeat.interval.ms")


def wrong_configs(broker: Broker) -> Iterator[str]:
    """Configs of topics and groups that are not what they follow from."""
    metadata = broker.services.metadata
    for topic in metadata.topics.values():
        wanted = TopicConfig(topic.configs, metadata.config)
        for name in OF_TOPICS:
            told = topic.config.value(name)  # as it was parsed once
            if told != wanted.value(name):
                yield f"{name} of {topic.name} is {told}, not {wanted.value(name)}"
    for group_id, overrides in metadata.resource_configs[RESOURCE_GROUP].items():
        of_group = GroupConfig(overrides, metadata.config)
        for name in OF_GROUPS:
            in_force = metadata.group_config(group_id).value(name)
            if in_force != of_group.value(name):
                yield f"{name} of group {group_id} is {in_force}, not {of_group.value(name)}"
