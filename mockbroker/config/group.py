"""Configs of single groups: what each is and which broker config it falls back to.

DescribeConfigs lists them for any group, known or not, as Apache Kafka does (Kafka: GroupConfig).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.config.definition import ConfigDefinition
from mockbroker.config.describe import broker_row
from mockbroker.config.rows import ConfigRow, ConfigSource, ConfigSynonym

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mockbroker.config.broker import BrokerConfig

# A row of a definition table, and the broker config behind it or `-`.
GROUP_DEFINITIONS: Final = """\
consumer.assignment.interval.ms INT 1000 - Md group.consumer.assignment.interval.ms
consumer.heartbeat.interval.ms INT 5000 - Md group.consumer.heartbeat.interval.ms
consumer.session.timeout.ms INT 45000 - Md group.consumer.session.timeout.ms
errors.deadletterqueue.copy.record.enable BOOLEAN false - Md -
errors.deadletterqueue.topic.name STRING '' - Md -
share.assignment.interval.ms INT 1000 - Md group.share.assignment.interval.ms
share.auto.offset.reset STRING latest - Md -
share.delivery.count.limit INT 5 - Md group.share.delivery.count.limit
share.heartbeat.interval.ms INT 5000 - Md group.share.heartbeat.interval.ms
share.isolation.level STRING read_uncommitted - Md -
share.partition.max.record.locks INT 2000 - Md group.share.partition.max.record.locks
share.record.lock.duration.ms INT 30000 - Md group.share.record.lock.duration.ms
share.renew.acknowledge.enable BOOLEAN true - Md -
share.session.timeout.ms INT 45000 - Md group.share.session.timeout.ms
streams.assignment.interval.ms INT 1000 - Md group.streams.assignment.interval.ms
streams.assignor.name STRING sticky - Md group.streams.assignors
streams.heartbeat.interval.ms INT 5000 - Md group.streams.heartbeat.interval.ms
streams.initial.rebalance.delay.ms INT 3000 - Md group.streams.initial.rebalance.delay.ms
streams.num.standby.replicas INT 0 - Md group.streams.num.standby.replicas
streams.rack.aware.assignment.tags LIST '' - Md group.streams.rack.aware.assignment.tags
streams.session.timeout.ms INT 45000 - Md group.streams.session.timeout.ms
"""


def describe_group(config: BrokerConfig) -> Iterator[ConfigRow]:
    """The rows of a group that has no configs of its own."""
    for line in GROUP_DEFINITIONS.splitlines():
        row, _, broker_config = line.rpartition(" ")
        definition = ConfigDefinition.from_row(row)
        value = definition.default
        synonyms: tuple[ConfigSynonym, ...] = ()
        if broker_config != "-":
            inherited = broker_row(config, broker_config)
            value, synonyms = inherited.value, inherited.synonyms
        if not synonyms:
            own = ConfigSynonym(definition.name, value, ConfigSource.DEFAULT_CONFIG)
            synonyms = (own,)
        yield ConfigRow(
            definition.name, value, synonyms[0].source, definition.type, False, False, synonyms
        )
