"""What a test sees of one topic and does to it: `broker.topic("orders")`, `broker.aio.topic(…)`.

A view is a name over a bridge and holds no state of the broker; the topic need not exist yet. Each
verb ends with one call or one wait of the bridge and returns what that gives, so `aio` has the same
verbs for coroutines. `TopicView` has the verbs, whatever the bridge leads to; how each is done
there is in the methods at its end, which `ClusterTopicView` has for a broker in this process, and
`remote` and `kafka` for others.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, Protocol, Self, TypeVar, Unpack

from mockbroker.state import writing
from mockbroker.state.config_texts import config_texts
from mockbroker.state.partitions import leading_partition
from mockbroker.state.reading import READ_UNCOMMITTED, Record, TopicReader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from os import PathLike

    from mockbroker.cluster.cluster import Cluster
    from mockbroker.state.reading import Reading
    from mockbroker.state.seeds import RowFieldNames
    from mockbroker.state.writing import Headers, NewRecord, Position
    from mockbroker.testing.bridge import Bridge, Caller

    Data = bytes | str | dict[str, Any] | list[Any] | None

__tracebackhide__ = True

S = TypeVar("S")
S_contra = TypeVar("S_contra", contravariant=True)
T = TypeVar("T")

DEFAULT_TIMEOUT_SECONDS: Final = 10.0
_SHOWN_RECORDS: Final = 5


class TopicDescription(NamedTuple):
    """A topic that is there."""

    partitions: int
    config: dict[str, str]


_NOTHING: Final = TopicDescription(0, {})


class RecordReader(Protocol[S_contra]):
    """Reads a topic; one that is kept while a test waits reads again only what is new."""

    def read(self, source: S_contra, /) -> list[Record]:
        """Every record so far that counts, by partition and offset; [] without such a topic."""


class TopicView(ABC, Generic[S]):
    """One topic, from any thread."""

    def __init__(self, bridge: Caller[S], name: str) -> None:
        self._bridge = bridge
        self.name = name

    def __repr__(self) -> str:
        return f"TopicView({self.name!r})"

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
        reader = self._reader(
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
        reader = self._reader(
            partition=partition,
            isolation=isolation,
            decode=decode,
            decode_key=decode_key,
            where=where,
        )

        def enough(source: S) -> list[Record] | None:
            found = reader.read(source)
            return found if len(found) >= count else None

        explain = partial(self._too_few, reader, count, timeout)
        return self._bridge.wait(enough, timeout, explain)

    def put(
        self,
        value: Data,
        *,
        key: Data = None,
        headers: Headers = None,
        timestamp: int | None = None,
        partition: int | None = None,
    ) -> Position:
        """Append one record as a producer would, and say where it went.

        Text is UTF-8, a dict or list is JSON, None is null; `timestamp` in epoch ms, None: now.
        Without `partition` the key decides as in Kafka's producers. Raises TopicError when the
        broker refuses it.
        """
        record = writing.new_record(
            value, key=key, headers=headers, timestamp=timestamp, partition=partition
        )
        return self._put([record], lambda positions: positions[0])

    def put_all(
        self,
        values: Iterable[Data | NewRecord],
        *,
        key: Callable[[Any], Data] | None = None,
        headers: Headers = None,
        timestamp: int | None = None,
        partition: int | None = None,
    ) -> list[Position]:
        """Append many records in one step of the broker, and say where each went.

        `key` makes the key of each value; the rest is for all. A `NewRecord` has its own.
        """
        records = writing.new_records(
            values, key=key, headers=headers, timestamp=timestamp, partition=partition
        )
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

    def create(
        self,
        partitions: int | None = None,
        *,
        replication_factor: int | None = None,
        config: Mapping[str, object] | None = None,
    ) -> Self:
        """Make the topic. Raises TopicError when that cannot be.

        Values of `config` may be numbers, truth values and lists: see `config_texts`.
        """
        texts = config_texts(config or {})
        return self._bridge.call(partial(self._created, partitions, replication_factor, texts))

    def delete(self) -> None:
        """Delete the topic. Raises TopicError when there is none."""
        return self._bridge.call(self._delete)

    def delete_records(self) -> None:
        """Delete every record; offsets go on where they are. Raises TopicError."""
        return self._bridge.call(self._delete_records)

    @property
    def exists(self) -> bool:
        """Whether there is such a topic."""
        return self._bridge.call(lambda source: self._describe(source) is not None)

    @property
    def partitions(self) -> int:
        """How many partitions it has; 0 when there is no such topic."""
        return self._bridge.call(lambda source: (self._describe(source) or _NOTHING).partitions)

    @property
    def config(self) -> dict[str, str]:
        """The configs that were set on it."""
        return self._bridge.call(lambda source: dict((self._describe(source) or _NOTHING).config))

    def end_offsets(self) -> dict[int, int]:
        """The high watermark by partition."""
        return self._bridge.call(self._end_offsets)

    def _created(
        self,
        partitions: int | None,
        replication_factor: int | None,
        config: Mapping[str, str],
        source: S,
    ) -> Self:
        self._create(source, partitions, replication_factor, config)
        return self

    def _too_few(self, reader: RecordReader[S], count: int, timeout: float, source: S) -> str:
        """Why a wait for records was in vain."""
        waited = f"waited {timeout:g} s for {count} record(s)"
        if self._describe(source) is None:
            return f"{waited}: {self._missing(source)}"
        found = reader.read(source)
        all_records = self._reader().read(source)
        first = (
            f"{waited} in topic {self.name}: there are {len(found)} that count,"
            f" {len(all_records)} in all"
        )
        shown = (found or all_records)[-_SHOWN_RECORDS:]
        return "\n".join([first, *(f"  {record}" for record in shown)])

    # -- how it is done where the bridge leads -------------------------------------------------

    @abstractmethod
    def _reader(self, **how: Unpack[Reading]) -> RecordReader[S]:
        """Something that reads the topic so."""

    @abstractmethod
    def _put(self, records: Sequence[NewRecord], take: Callable[[list[Position]], T]) -> T:
        """What `take` makes of where the records went; one call of the bridge."""

    @abstractmethod
    def _create(
        self,
        source: S,
        partitions: int | None,
        replication_factor: int | None,
        config: Mapping[str, str],
    ) -> None: ...

    @abstractmethod
    def _delete(self, source: S) -> None: ...

    @abstractmethod
    def _delete_records(self, source: S) -> None: ...

    @abstractmethod
    def _describe(self, source: S) -> TopicDescription | None:
        """The topic; None when there is none."""

    @abstractmethod
    def _missing(self, source: S) -> str:
        """What to say of a topic that is not there."""

    @abstractmethod
    def _end_offsets(self, source: S) -> dict[int, int]: ...


class ClusterTopicView(TopicView["Cluster"]):
    """A topic of a broker in this process."""

    _bridge: Bridge

    def _reader(self, **how: Unpack[Reading]) -> TopicReader:
        return TopicReader(self.name, **how)

    def _put(self, records: Sequence[NewRecord], take: Callable[[list[Position]], T]) -> T:
        put = writing.Put(self.name, records)
        return self._bridge.act_when(
            put.is_ready,
            lambda cluster: take(put.append(cluster)),
            DEFAULT_TIMEOUT_SECONDS,
            put.explain,
            begin=put.begin,
        )

    def _create(
        self,
        source: Cluster,
        partitions: int | None,
        replication_factor: int | None,
        config: Mapping[str, str],
    ) -> None:
        writing.create_topic(source, self.name, partitions, replication_factor, config)

    def _delete(self, source: Cluster) -> None:
        writing.delete_topic(source, self.name)

    def _delete_records(self, source: Cluster) -> None:
        writing.delete_records(source, self.name)

    def _describe(self, source: Cluster) -> TopicDescription | None:
        topic = source.metadata.topics.get(self.name)
        return None if topic is None else TopicDescription(len(topic.partitions), topic.configs)

    def _missing(self, source: Cluster) -> str:
        return writing.no_topic(source, self.name)

    def _end_offsets(self, source: Cluster) -> dict[int, int]:
        topic = source.metadata.topics.get(self.name)
        found: dict[int, int] = {}
        for index in range(0 if topic is None else len(topic.partitions)):
            partition = leading_partition(source, self.name, index)
            found[index] = 0 if partition is None else partition.high_watermark
        return found


def decoded(record: Record, how: Reading) -> Record | None:
    """A record of bytes as it is read; None when it does not count."""
    decode, decode_key, where = how.get("decode"), how.get("decode_key"), how.get("where")
    if decode is not None and record.value is not None:
        record = record._replace(value=decode(record.value))
    if decode_key is not None and record.key is not None:
        record = record._replace(key=decode_key(record.key))
    return record if where is None or where(record) else None
