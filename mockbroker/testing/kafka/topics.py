"""A topic of a Kafka cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, Unpack

from mockbroker.state.reading import READ_UNCOMMITTED, TopicReader
from mockbroker.testing.kafka.client import KafkaClient
from mockbroker.testing.topic_view import TopicDescription, TopicView, decoded

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mockbroker.state.reading import Reading, Record
    from mockbroker.state.writing import NewRecord, Position

__tracebackhide__ = True

T = TypeVar("T")


class KafkaTopicView(TopicView[KafkaClient]):
    """A topic of a Kafka cluster."""

    def _reader(self, **how: Unpack[Reading]) -> KafkaReader:
        return KafkaReader(self.name, **how)

    def _put(self, records: Sequence[NewRecord], take: Callable[[list[Position]], T]) -> T:
        return self._bridge.call(lambda client: take(client.put(self.name, records)))

    def _create(
        self,
        source: KafkaClient,
        partitions: int | None,
        replication_factor: int | None,
        config: Mapping[str, str],
    ) -> None:
        source.create_topic(self.name, partitions, replication_factor, config)

    def _delete(self, source: KafkaClient) -> None:
        source.delete_topic(self.name)

    def _delete_records(self, source: KafkaClient) -> None:
        source.delete_records(self.name)

    def _describe(self, source: KafkaClient) -> TopicDescription | None:
        partitions = source.partitions(self.name)
        if partitions is None:
            return None
        return TopicDescription(partitions, source.topic_config(self.name))

    def _missing(self, source: KafkaClient) -> str:
        return f"there is no topic {self.name!r}; topics: {', '.join(source.topics()) or 'none'}"

    def _end_offsets(self, source: KafkaClient) -> dict[int, int]:
        return {at: end for at, (_, end) in source.bounds(self.name).items()}


class KafkaReader:
    """As `TopicReader`: each `read` consumes what is new."""

    def __init__(self, topic: str, **how: Unpack[Reading]) -> None:
        TopicReader(topic, **how)  # it says what is wrong with them
        self._topic = topic
        self._how = how
        self._next: dict[int, int] = {}
        self._found: list[Record] = []

    def read(self, source: KafkaClient) -> list[Record]:
        """Every record so far that counts, by partition and offset; [] without such a topic."""
        wanted = self._how.get("partition")
        starts = {
            at: self._next.get(at, 0)
            for at in range(source.partitions(self._topic) or 0)
            if wanted in (None, at)
        }
        isolation = self._how.get("isolation", READ_UNCOMMITTED)
        for record in source.read(self._topic, starts, isolation):
            self._next[record.partition] = record.offset + 1
            one = decoded(record, self._how)
            if one is not None:
                self._found.append(one)
        self._found.sort(key=lambda one: (one.partition, one.offset))
        return list(self._found)
