"""What a test sees of one topic and does to it: `broker.topic("orders")`, `broker.aio.topic(…)`.

Both views are names over a bridge; they hold no state of the broker. `_Topic` makes the actions,
and the two views say how an action is carried to the broker's loop. The topic need not exist yet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Unpack

from mockbroker.state import writing
from mockbroker.state.partitions import leading_partition
from mockbroker.state.reading import READ_UNCOMMITTED, Record, TopicReader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from os import PathLike

    from mockbroker.cluster.cluster import Cluster
    from mockbroker.state.seeds import RowFieldNames
    from mockbroker.state.writing import Headers, NewRecord, Position
    from mockbroker.testing.bridge import Bridge

DEFAULT_TIMEOUT_SECONDS: Final = 10.0
_SHOWN_RECORDS: Final = 5


class _Topic:
    """Makes what the views run."""

    def __init__(self, bridge: Bridge, name: str) -> None:
        self._bridge = bridge
        self.name = name

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def _reader(
        self,
        decode: Callable[[bytes], Any] | None,
        decode_key: Callable[[bytes], Any] | None,
        isolation: str,
        partition: int | None,
        where: Callable[[Record], bool] | None,
    ) -> TopicReader:
        return TopicReader(
            self.name,
            partition=partition,
            isolation=isolation,
            decode=decode,
            decode_key=decode_key,
            where=where,
        )

    def _record(
        self,
        value: bytes | str | None,
        key: bytes | str | None,
        headers: Headers,
        timestamp: int | None,
        partition: int | None,
    ) -> NewRecord:
        return writing.NewRecord(
            writing.to_bytes("value", value),
            writing.to_bytes("key", key),
            writing.to_headers(headers),
            timestamp,
            partition,
        )

    def _until(self, reader: TopicReader, count: int) -> Callable[[Cluster], list[Record] | None]:
        def enough(cluster: Cluster) -> list[Record] | None:
            found = reader.read(cluster)
            return found if len(found) >= count else None

        return enough

    def _too_few(self, reader: TopicReader, count: int, timeout: float) -> Callable[[Cluster], str]:
        def explain(cluster: Cluster) -> str:
            if self.name not in cluster.metadata.topics:
                return (
                    f"waited {timeout:g} s for {count} record(s):"
                    f" {writing.no_topic(cluster, self.name)}"
                )
            found = reader.read(cluster)
            all_records = TopicReader(self.name).read(cluster)
            first = (
                f"waited {timeout:g} s for {count} record(s) in topic {self.name}: there are"
                f" {len(found)} that count, {len(all_records)} in all"
            )
            lines = [first]
            lines += [f"  {record}" for record in (found or all_records)[-_SHOWN_RECORDS:]]
            return "\n".join(lines)

        return explain

    def _exists(self, cluster: Cluster) -> bool:
        return self.name in cluster.metadata.topics

    def _partition_count(self, cluster: Cluster) -> int:
        topic = cluster.metadata.topics.get(self.name)
        return 0 if topic is None else len(topic.partitions)

    def _configs(self, cluster: Cluster) -> dict[str, str]:
        topic = cluster.metadata.topics.get(self.name)
        return {} if topic is None else dict(topic.configs)

    def _end_offsets(self, cluster: Cluster) -> dict[int, int]:
        ends: dict[int, int] = {}
        for index in range(self._partition_count(cluster)):
            partition = leading_partition(cluster, self.name, index)
            ends[index] = 0 if partition is None else partition.high_watermark
        return ends


class TopicView(_Topic):
    """One topic, from any thread."""

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
        return self._bridge.call(self._reader(decode, decode_key, isolation, partition, where).read)

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
        reader = self._reader(decode, decode_key, isolation, partition, where)
        return self._bridge.wait(
            self._until(reader, count), timeout, self._too_few(reader, count, timeout)
        )

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
        record = self._record(value, key, headers, timestamp, partition)
        return self._bridge.call(lambda cluster: writing.put(cluster, self.name, [record]))[0]

    def put_all(self, values: Iterable[bytes | str | None]) -> list[Position]:
        """Append many records without keys, in one step of the broker."""
        records = [self._record(value, None, None, None, None) for value in values]
        return self._bridge.call(lambda cluster: writing.put(cluster, self.name, records))

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
        return self._bridge.call(lambda cluster: writing.put(cluster, self.name, records))

    def create(
        self,
        partitions: int | None = None,
        *,
        replication_factor: int | None = None,
        config: Mapping[str, str] | None = None,
    ) -> TopicView:
        """Make the topic. Raises TopicError when that cannot be."""
        self._bridge.call(
            lambda cluster: writing.create_topic(
                cluster, self.name, partitions, replication_factor, config
            )
        )
        return self

    def delete(self) -> None:
        """Delete the topic. Raises TopicError when there is none."""
        self._bridge.call(lambda cluster: writing.delete_topic(cluster, self.name))

    def delete_records(self) -> None:
        """Delete every record; offsets go on where they are. Raises TopicError."""
        self._bridge.call(lambda cluster: writing.delete_records(cluster, self.name))

    @property
    def exists(self) -> bool:
        """Whether there is such a topic."""
        return self._bridge.call(self._exists)

    @property
    def partitions(self) -> int:
        """How many partitions it has; 0 when there is no such topic."""
        return self._bridge.call(self._partition_count)

    @property
    def config(self) -> dict[str, str]:
        """The configs that were set on it."""
        return self._bridge.call(self._configs)

    def end_offsets(self) -> dict[int, int]:
        """The high watermark by partition."""
        return self._bridge.call(self._end_offsets)


class AsyncTopicView(_Topic):
    """The same for coroutines of any loop; see `TopicView`."""

    async def records(
        self,
        *,
        decode: Callable[[bytes], Any] | None = None,
        decode_key: Callable[[bytes], Any] | None = None,
        isolation: str = READ_UNCOMMITTED,
        partition: int | None = None,
        where: Callable[[Record], bool] | None = None,
    ) -> list[Record]:
        """What is in the topic now, by partition and offset."""
        reader = self._reader(decode, decode_key, isolation, partition, where)
        return await self._bridge.call_async(reader.read)

    async def wait_for(
        self,
        count: int,
        timeout: float = DEFAULT_TIMEOUT_SECONDS,  # noqa: ASYNC109 -- as the blocking view has it
        *,
        decode: Callable[[bytes], Any] | None = None,
        decode_key: Callable[[bytes], Any] | None = None,
        isolation: str = READ_UNCOMMITTED,
        partition: int | None = None,
        where: Callable[[Record], bool] | None = None,
    ) -> list[Record]:
        """Wait until at least `count` records are there that count, and return them all."""
        reader = self._reader(decode, decode_key, isolation, partition, where)
        return await self._bridge.wait_async(
            self._until(reader, count), timeout, self._too_few(reader, count, timeout)
        )

    async def put(
        self,
        value: bytes | str | None,
        *,
        key: bytes | str | None = None,
        headers: Headers = None,
        timestamp: int | None = None,
        partition: int | None = None,
    ) -> Position:
        """Append one record as a producer would, and say where it went."""
        record = self._record(value, key, headers, timestamp, partition)
        put = await self._bridge.call_async(
            lambda cluster: writing.put(cluster, self.name, [record])
        )
        return put[0]

    async def put_all(self, values: Iterable[bytes | str | None]) -> list[Position]:
        """Append many records without keys, in one step of the broker."""
        records = [self._record(value, None, None, None, None) for value in values]
        return await self._bridge.call_async(
            lambda cluster: writing.put(cluster, self.name, records)
        )

    async def create(
        self,
        partitions: int | None = None,
        *,
        replication_factor: int | None = None,
        config: Mapping[str, str] | None = None,
    ) -> AsyncTopicView:
        """Make the topic."""
        await self._bridge.call_async(
            lambda cluster: writing.create_topic(
                cluster, self.name, partitions, replication_factor, config
            )
        )
        return self

    async def delete(self) -> None:
        """Delete the topic."""
        await self._bridge.call_async(lambda cluster: writing.delete_topic(cluster, self.name))

    async def delete_records(self) -> None:
        """Delete every record; offsets go on where they are."""
        await self._bridge.call_async(lambda cluster: writing.delete_records(cluster, self.name))

    async def end_offsets(self) -> dict[int, int]:
        """The high watermark by partition."""
        return await self._bridge.call_async(self._end_offsets)
