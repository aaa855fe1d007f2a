"""The topics as consumer groups see them: ids, partition counts, and a hash that shows changes.

Kafka compares a hash of the topics that a group reads with the one in the group's record, and
bumps the group's epoch when they differ (ModernGroup.computeMetadataHash). The number itself means
nothing outside of one cluster.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mockbroker.coordinator.group.consumer.group import ConsumerGroup
    from mockbroker.coordinator.group.consumer.member import ConsumerMember
    from mockbroker.metadata.store import MetadataStore, Topic


class NamedPartitions(Protocol):
    """Partitions of one topic, as a classic member names them."""

    topic: str
    partitions: list[int]


@dataclass(slots=True, eq=False)
class TopicView:
    """A look at the metadata as it is now."""

    _metadata: MetadataStore

    @property
    def version(self) -> int:
        """Counts the changes of the metadata."""
        return self._metadata.version

    @property
    def names(self) -> Iterable[str]:
        """All topics."""
        return self._metadata.topics

    def topic(self, topic_id: bytes) -> Topic | None:
        """The topic with this id."""
        return self._metadata.topics_by_id.get(topic_id)

    def topic_id(self, name: str) -> bytes | None:
        """The id of the topic with this name."""
        topic = self._metadata.topics.get(name)
        return None if topic is None else topic.id

    def partition_count(self, topic_id: bytes) -> int:
        """Of a topic that is there."""
        return len(self._metadata.topics_by_id[topic_id].partitions)

    def subscribed_ids(self, group: ConsumerGroup, member: ConsumerMember) -> frozenset[bytes]:
        """The topics that the member reads and that are there; an unresolved expression: none."""
        names: Iterable[str] = member.topic_names
        resolved = group.resolved.get(member.topic_regex or "")
        if resolved is not None:
            names = member.topic_names | resolved.topics
        topics = self._metadata.topics
        return frozenset(topics[name].id for name in names if name in topics)

    def hash_of(self, names: Iterable[str]) -> int:
        """A signed 64-bit number over the topics of these names that are there; 0 for none."""
        topics = self._metadata.topics
        found = [topics[name] for name in sorted(names) if name in topics]
        if not found:
            return 0
        hasher = blake2b(digest_size=8)
        for topic in found:
            hasher.update(topic.id)
            hasher.update(f"{topic.name}/{len(topic.partitions)}/".encode())
            for partition in topic.partitions:
                racks = sorted(
                    broker.rack
                    for node_id in partition.replicas
                    if (broker := self._metadata.brokers.get(node_id)) is not None and broker.rack
                )
                hasher.update(f"{racks};".encode())
        return int.from_bytes(hasher.digest(), "big", signed=True)

    def partitions_of(self, named: Iterable[NamedPartitions]) -> dict[bytes, list[int]]:
        """Partitions that a classic member names, by topic id; topics that are gone left out."""
        found: dict[bytes, list[int]] = {}
        for one in named:
            topic_id = self.topic_id(one.topic)
            if topic_id is not None:
                found.setdefault(topic_id, []).extend(one.partitions)
        return found

    def named(self, partitions: Mapping[bytes, Iterable[int]]) -> list[tuple[str, list[int]]]:
        """Partitions by topic name; topics that are gone left out."""
        topics = self._metadata.topics_by_id
        return [
            (topics[topic_id].name, list(indexes))
            for topic_id, indexes in partitions.items()
            if topic_id in topics
        ]

    def counts(self, topic_ids: Iterable[bytes]) -> dict[bytes, int]:
        """How many partitions each topic has."""
        return {topic_id: self.partition_count(topic_id) for topic_id in topic_ids}
