"""What a test sees of one topic and does to it: `broker.topic("orders")`, `broker.aio.topic(…)`.

A view is a name over a bridge and holds no state of the broker; the topic need not exist yet. Each
verb ends with one call or one wait of the bridge and returns what that gives, so `aio` has the same
verbs for coroutines.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar, Unpack

from mockbroker.state import writing
from mockbroker.state.partitions import leading_partition
from mockbroker.state.reading import READ_UNCOMMITTED, Record, TopicReader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from os import PathLike

    from mockbroker.cluster.cluster import Cluster
    from mockbroker.state.seeds import RowFieldNames
    from mockbroker.state.writing import Headers, Position
    from mockbroker.testing.bridge import Bridge

T = TypeVar("T")

DEFAULT_TIMEOUT_SECONDS: Final = 10.0
_SHOWN_RECORDS: Final = 5


class TopicView:
    """One topic, from any thread."""

    def __init__(self, bridge: Bridge, name: str) -> None:
        self._bridge = bridge
        self.name = name

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def records(
        self,
        *,
        decode: Callable[[bytes], Any] | None = None,
        decode_key: Callable[[bytes], Any] | None = None,
        isolation: str = READ_UNCOMMITTED,
        partition: int | None = None,
        where: Callable[[Record], bool] | None = None,
    ) -> list[Record]:
        """What is in the topic now, by partition and offset; [] when there is no such topic.

        `decode` and `decode_key` turn bytes that are not null into what the test compares
        (`json.loads`); `isolation` is a consumer's isolation.level; `where` says which records
        count.
        """
        reader = TopicReader(
            self.name,
            partition=partition,
            isolation=isolation,
            decode=decode,
            decode_key=decode_key,
            where=where,
        )
        return self._bridge.call(reader.read)

    def wait_for(
        self,
        count: int,
        timeout: float = DEFAULT_TIMEOUT_SECONDS,
        *,
        decode: Callable[[bytes], Any] | None = None,
        decode_key: Callable[[bytes], Any] | None = None,
        isolation: str = READ_UNCOMMITTED,
        partition: int | None = None,
        where: Callable[[Record], bool] | None = None,
    ) -> list[Record]:
        """Wait until at least `count` records are there that count, and return them all.

        `timeout` in seconds. Raises WaitTimeoutError, an AssertionError that shows what came.
        """
        reader = TopicReader(
            self.name,
            partition=partition,
            isolation=isolation,
            decode=decode,
            decode_key=decode_key,
            where=where,
        )

        def enough(cluster: Cluster) -> list[Record] | None:
            found = reader.read(cluster)
            return found if len(found) >= count else None

        return self._bridge.wait(enough, timeout, partial(_too_few, reader, count, timeout))

    def put(
        self,
        value: bytes | str | None,
        *,
        key: bytes | str | None = None,
        headers: Headers = None,
        timestamp: int | None = None,
        partition: int | None = None,
    ) -> Position:
        """Append one record as a producer would, and say where it went.

        Text is UTF-8, None is null; `timestamp` in epoch ms, None: now. Without `partition` the
        key decides as in Kafka's producers. Raises TopicError when the broker refuses it.
        """
        record = writing.NewRecord(
            writing.to_bytes("value", value),
            writing.to_bytes("key", key),
            writing.to_headers(headers),
            timestamp,
            partition,
        )
        return self._put([record], lambda positions: positions[0])

    def put_all(self, values: Iterable[bytes | str | None]) -> list[Position]:
        """Append many records without keys, in one step of the broker."""
        records = [writing.NewRecord(writing.to_bytes("value", value)) for value in values]
        return self._put(records, lambda positions: positions)

    def load(
        self,
        path: str | PathLike[str],
        *,
        file_format: str | None = None,
        **fields: Unpack[RowFieldNames],
    ) -> list[Position]:
        """Put the rows of a JSON, JSONL, CSV, Avro or Parquet file, each as a record.

        A record's value is the whole row as JSON; `key="id"` and the like name the fields that are
        its key, value, headers, timestamp or partition; `envelope=True` takes fields of these
        names. Raises SeedError for the file, TopicError for the topic.
        """
        from mockbroker.state.seeds import RowFields, read_records

        records = read_records(str(path), RowFields(**fields), file_format)
        return self._put(records, lambda positions: positions)

    def _put(self, records: Sequence[writing.NewRecord], take: Callable[[list[Position]], T]) -> T:
        put = writing.Put(self.name, records)

        return self._bridge.act_when(
            put.is_ready,
            lambda cluster: take(put.append(cluster)),
            DEFAULT_TIMEOUT_SECONDS,
            put.explain,
            begin=put.begin,
        )

    def create(
        self,
        partitions: int | None = None,
        *,
        replication_factor: int | None = None,
        config: Mapping[str, str] | None = None,
    ) -> TopicView:
        """Make the topic. Raises TopicError when that cannot be."""

        def make(cluster: Cluster) -> TopicView:
            writing.create_topic(cluster, self.name, partitions, replication_factor, config)
            return self

        return self._bridge.call(make)

    def delete(self) -> None:
        """Delete the topic. Raises TopicError when there is none."""
        return self._bridge.call(lambda cluster: writing.delete_topic(cluster, self.name))

    def delete_records(self) -> None:
        """Delete every record; offsets go on where they are. Raises TopicError."""
        return self._bridge.call(lambda cluster: writing.delete_records(cluster, self.name))

    @property
    def exists(self) -> bool:
        """Whether there is such a topic."""
        return self._bridge.call(lambda cluster: self.name in cluster.metadata.topics)

    @property
    def partitions(self) -> int:
        """How many partitions it has; 0 when there is no such topic."""
        return self._bridge.call(lambda cluster: _partition_count(cluster, self.name))

    @property
    def config(self) -> dict[str, str]:
        """The configs that were set on it."""

        def configs(cluster: Cluster) -> dict[str, str]:
            topic = cluster.metadata.topics.get(self.name)
            return {} if topic is None else dict(topic.configs)

        return self._bridge.call(configs)

    def end_offsets(self) -> dict[int, int]:
        """The high watermark by partition."""

        def ends(cluster: Cluster) -> dict[int, int]:
            found: dict[int, int] = {}
            for index in range(_partition_count(cluster, self.name)):
                partition = leading_partition(cluster, self.name, index)
                found[index] = 0 if partition is None else partition.high_watermark
            return found

        return self._bridge.call(ends)


def _partition_count(cluster: Cluster, name: str) -> int:
    topic = cluster.metadata.topics.get(name)
    return 0 if topic is None else len(topic.partitions)


def _too_few(reader: TopicReader, count: int, timeout: float, cluster: Cluster) -> str:
    """Why a wait for records was in vain."""
    name = reader.topic
    waited = f"waited {timeout:g} s for {count} record(s)"
    if name not in cluster.metadata.topics:
        return f"{waited}: {writing.no_topic(cluster, name)}"
    found = reader.read(cluster)
    all_records = TopicReader(name).read(cluster)
    first = (
        f"{waited} in topic {name}: there are {len(found)} that count, {len(all_records)} in all"
    )
    shown = (found or all_records)[-_SHOWN_RECORDS:]
    return "\n".join([first, *(f"  {record}" for record in shown)])
