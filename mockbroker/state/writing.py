"""Putting records into a topic without a producer, and making topics. Called by the topic view.

A record takes the way of one from a client: it is checked against the topic's configs, gets its
offset, and wakes who waits. Where no partition is given a key decides as in Kafka's own producers
(murmur2), and without a key the record goes to the partition that has fewest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from mockbroker.log.results import AppendOrigin
from mockbroker.metadata.topic_requests import NewTopic, TopicReference
from mockbroker.state.partitions import leading_partition, topic_names
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.murmur2 import murmur2

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from mockbroker.cluster.cluster import Cluster
    from mockbroker.metadata.store import Topic

    Headers: TypeAlias = (
        Mapping[str, bytes | str | None] | Iterable[tuple[str, bytes | str | None]] | None
    )

_BATCH_RECORDS = 500
_BATCH_BYTES = 512 * 1024


class TopicError(Exception):
    """A topic could not be made, changed or written to; the message names it and says why."""


class NewRecord(NamedTuple):
    """A record to put; `timestamp` None is now, `partition` None leaves the choice to the key."""

    value: bytes | None
    key: bytes | None = None
    headers: Sequence[tuple[str, bytes | None]] = ()
    timestamp: int | None = None
    partition: int | None = None


class Position(NamedTuple):
    """Where a record was put; `timestamp` in epoch ms."""

    topic: str
    partition: int
    offset: int
    timestamp: int


def to_bytes(what: str, data: object) -> bytes | None:
    """Bytes as they are, text as UTF-8, a dict or list as JSON, None as null.

    Raises TypeError for anything else, and for what JSON has no word for.
    """
    if data is None or isinstance(data, bytes):
        return data
    if isinstance(data, str):
        return data.encode()
    if isinstance(data, bytearray | memoryview):
        return bytes(data)
    if isinstance(data, dict | list):
        import json

        try:
            return json.dumps(data, ensure_ascii=False).encode()
        except (TypeError, ValueError) as error:
            message = f"{what}: {error}"
            raise TypeError(message) from None
    message = f"{what}: {type(data).__name__} cannot be put; allowed: bytes, str, dict, list, None"
    raise TypeError(message)


def new_record(
    value: object,
    *,
    key: object = None,
    headers: Headers = None,
    timestamp: int | None = None,
    partition: int | None = None,
) -> NewRecord:
    """A record of what a test gives; see `to_bytes`. Raises TypeError."""
    return NewRecord(
        to_bytes("value", value),
        to_bytes("key", key),
        to_headers(headers),
        timestamp,
        partition,
    )


def new_records(
    values: Iterable[object],
    *,
    key: Callable[[Any], object] | None = None,
    headers: Headers = None,
    timestamp: int | None = None,
    partition: int | None = None,
) -> list[NewRecord]:
    """Records of values or `NewRecord`s; `key` makes the key of a value, the rest is for all."""
    return [
        value
        if isinstance(value, NewRecord)
        else new_record(
            value,
            key=None if key is None else key(value),
            headers=headers,
            timestamp=timestamp,
            partition=partition,
        )
        for value in values
    ]


def to_headers(headers: Headers) -> list[tuple[str, bytes | None]]:
    """Headers as pairs of name and bytes."""
    from collections.abc import Mapping

    pairs = headers.items() if isinstance(headers, Mapping) else headers or ()
    return [(name, to_bytes(f"headers[{name!r}]", value)) for name, value in pairs]


def put(cluster: Cluster, name: str, records: Sequence[NewRecord]) -> list[Position]:
    """Append `records` to a topic, which is made if the broker creates topics by itself.

    Returns where each went, in their order. Raises TopicError; what was appended before stays.
    """
    topic = _topic(cluster, name)
    placed = _place(cluster, topic, records)
    positions: dict[int, Position] = {}
    for index, members in placed.items():
        for chunk in _chunks([(at, records[at]) for at in members]):
            positions.update(_append(cluster, name, index, chunk))
    return [positions[at] for at in range(len(records))]


class Put:
    """Records on their way into a topic that need not exist yet, in two steps of the cluster.

    `begin` is the first; `append` the second, once `is_ready`: a topic that was just made has
    leaders when its brokers have heard of it.
    """

    def __init__(self, name: str, records: Sequence[NewRecord]) -> None:
        self._name = name
        self._records = records
        self._made = False

    def begin(self, cluster: Cluster) -> None:
        """Make the topic where brokers make topics by themselves. Raises TopicError."""
        self._made = self._name not in cluster.metadata.topics
        _topic(cluster, self._name)

    def is_ready(self, cluster: Cluster) -> bool:
        """Whether there is nothing to wait for; a topic that was there before is not waited for."""
        return not self._made or not self._leaderless(cluster)

    def append(self, cluster: Cluster) -> list[Position]:
        """Append them. Raises TopicError; what was appended before stays."""
        return put(cluster, self._name, self._records)

    def explain(self, cluster: Cluster) -> str:
        """Why it is not ready."""
        without = ", ".join(map(str, self._leaderless(cluster)))
        return f"topic {self._name} was made, but no broker leads partition {without} yet"

    def _leaderless(self, cluster: Cluster) -> list[int]:
        count = len(_topic(cluster, self._name).partitions)
        return [at for at in range(count) if leading_partition(cluster, self._name, at) is None]


def create_topic(
    cluster: Cluster,
    name: str,
    partitions: int | None = None,
    replication_factor: int | None = None,
    configs: Mapping[str, str] | None = None,
) -> None:
    """Make a topic; None takes the broker's default. Raises TopicError."""
    wanted = NewTopic(
        name,
        -1 if partitions is None else partitions,
        -1 if replication_factor is None else replication_factor,
        configs=list((configs or {}).items()),
    )
    (created,) = cluster.controller.create_topics([wanted])
    if created.error is not ErrorCode.NONE:
        raise TopicError(f"topic {name}: {created.message}")


def delete_topic(cluster: Cluster, name: str) -> None:
    """Delete a topic. Raises TopicError when there is none."""
    (deleted,) = cluster.controller.delete_topics([TopicReference(name)])
    if deleted.error is not ErrorCode.NONE:
        raise TopicError(no_topic(cluster, name))


def delete_records(cluster: Cluster, name: str) -> None:
    """Delete all records of a topic: its logs then start where they end."""
    for index in range(len(_topic(cluster, name).partitions)):
        partition = leading_partition(cluster, name, index)
        if partition is not None:
            partition.delete_records_before(-1)


def no_topic(cluster: Cluster, name: str) -> str:
    """What to say of a topic that is not there."""
    names = ", ".join(topic_names(cluster)) or "none"
    return f"there is no topic {name!r}; topics: {names}"


def _topic(cluster: Cluster, name: str) -> Topic:
    topic = cluster.metadata.topics.get(name)
    if topic is None:
        if not cluster.metadata.config.bool("auto.create.topics.enable"):
            raise TopicError(no_topic(cluster, name))
        create_topic(cluster, name)
        topic = cluster.metadata.topics[name]
    return topic


def _place(cluster: Cluster, topic: Topic, records: Sequence[NewRecord]) -> dict[int, list[int]]:
    """Which records go to which partition, as indexes of `records`."""
    count = len(topic.partitions)
    ends = [_end(cluster, topic.name, index) for index in range(count)]
    placed: dict[int, list[int]] = {}
    for at, record in enumerate(records):
        index = record.partition
        if index is None:
            if record.key is None:
                index = ends.index(min(ends))
            else:
                index = (murmur2(record.key) & 0x7FFFFFFF) % count
        if not 0 <= index < count:
            message = f"topic {topic.name}: there is no partition {index}; allowed: 0 to"
            raise TopicError(f"{message} {count - 1}")
        ends[index] += 1
        placed.setdefault(index, []).append(at)
    return placed


def _end(cluster: Cluster, name: str, index: int) -> int:
    partition = leading_partition(cluster, name, index)
    return 0 if partition is None or partition.log is None else partition.log.log_end_offset


def _chunks(records: list[tuple[int, NewRecord]]) -> Iterable[list[tuple[int, NewRecord]]]:
    """The records in batches of a producer's size."""
    chunk: list[tuple[int, NewRecord]] = []
    size = 0
    for at, record in records:
        record_size = len(record.value or b"") + len(record.key or b"")
        if chunk and (len(chunk) >= _BATCH_RECORDS or size + record_size > _BATCH_BYTES):
            yield chunk
            chunk, size = [], 0
        chunk.append((at, record))
        size += record_size
    yield chunk


def _append(
    cluster: Cluster, name: str, index: int, chunk: list[tuple[int, NewRecord]]
) -> dict[int, Position]:
    from mockbroker_protocol.records.batch import build_batch
    from mockbroker_protocol.records.record_codec import Record

    partition = leading_partition(cluster, name, index)
    if partition is None:
        raise TopicError(f"topic {name}: partition {index} has no leader")
    now_ms = cluster.clock.wall_ms()
    records = [
        Record(
            delta,
            now_ms if record.timestamp is None else record.timestamp,
            record.key,
            record.value,
            record.headers,
        )
        for delta, (_, record) in enumerate(chunk)
    ]
    result = partition.append_batch(bytearray(build_batch(records)), AppendOrigin.CLIENT)
    if result.error is not ErrorCode.NONE:
        reason = result.error_message or result.error.name
        details = "; ".join(one.message for one in result.record_errors)
        raise TopicError(f"topic {name}: {reason}{': ' * bool(details)}{details}")
    appended_ms = result.log_append_time_ms
    return {
        at: Position(
            name,
            index,
            result.base_offset + delta,
            records[delta].timestamp if appended_ms < 0 else appended_ms,
        )
        for delta, (at, _) in enumerate(chunk)
    }
