"""Reading a topic's records out of its logs, without a consumer.

The topic view reads once with a fresh `TopicReader`, or keeps one while it waits: each `read` then
parses only what is new. A partition whose log was replaced (the topic was made anew, or restored)
is read from its start again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypedDict

from mockbroker.state.partitions import leading_partition

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mockbroker.cluster.cluster import Cluster
    from mockbroker.log.unified_log import UnifiedLog

READ_UNCOMMITTED: Final = "read_uncommitted"
READ_COMMITTED: Final = "read_committed"
_PAGE_BYTES: Final = 4 << 20
"""A page ends behind the record that fills it, whatever its limit is."""


class Record(NamedTuple):
    """One record as a consumer would get it; `timestamp` in epoch ms, -1 without one.

    `key` and `value` are bytes or None, or what the reader's `decode_key` and `decode` made of
    the bytes.
    """

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: Any
    value: Any
    headers: list[tuple[str, bytes | None]]

    def header(self, name: str) -> bytes | None:
        """The value of the last header of that name; None without one."""
        for key, value in reversed(self.headers):
            if key == name:
                return value
        return None


class RecordPage(NamedTuple):
    """Some records, and where the next ones are; both None at the end of the topic."""

    records: list[Record]
    next_partition: int | None
    next_offset: int | None


class _Page:
    """The records of a page, as long as it has room."""

    def __init__(self, limit: int) -> None:
        self.records: list[Record] = []
        self._left = limit
        self._left_bytes = _PAGE_BYTES

    def takes(self, record: Record) -> bool:
        """Take a record, unless the page is full."""
        if self._left <= 0 or self._left_bytes <= 0:
            return False
        self._left -= 1
        self._left_bytes -= len(record.key or b"") + len(record.value or b"")
        self._left_bytes -= sum(len(name) + len(data or b"") for name, data in record.headers)
        self.records.append(record)
        return True


class _Cursor:
    """How far one partition was read, and what was found."""

    __slots__ = ("log", "next_offset", "records")

    def __init__(self, log: UnifiedLog) -> None:
        self.log = log
        self.next_offset = 0
        self.records: list[Record] = []


class Reading(TypedDict, total=False):
    """How a topic is read, as `TopicReader` says."""

    partition: int | None
    isolation: str
    decode: Callable[[bytes], Any] | None
    decode_key: Callable[[bytes], Any] | None
    where: Callable[[Record], bool] | None


class TopicReader:
    """Reads one topic, or one `partition` of it.

    `isolation` is a consumer's isolation.level; `decode` and `decode_key` are given the bytes of
    values and keys that are not null; `where` says which records count. Raises ValueError for
    another isolation.
    """

    def __init__(
        self,
        topic: str,
        *,
        partition: int | None = None,
        isolation: str = READ_UNCOMMITTED,
        decode: Callable[[bytes], Any] | None = None,
        decode_key: Callable[[bytes], Any] | None = None,
        where: Callable[[Record], bool] | None = None,
    ) -> None:
        if isolation not in (READ_UNCOMMITTED, READ_COMMITTED):
            message = f"isolation: {isolation!r}; allowed: {READ_UNCOMMITTED}, {READ_COMMITTED}"
            raise ValueError(message)
        self.topic = topic
        self.partition = partition
        self._committed = isolation == READ_COMMITTED
        self._decode = decode
        self._decode_key = decode_key
        self._where = where
        self._cursors: dict[int, _Cursor] = {}

    def read(self, cluster: Cluster) -> list[Record]:
        """Every record so far that counts, by partition and offset; [] without such a topic."""
        topic = cluster.metadata.topics.get(self.topic)
        indexes = range(0 if topic is None else len(topic.partitions))
        found: list[Record] = []
        for index in indexes:
            if self.partition in (None, index):
                found += self._read_partition(cluster, index)
        return found

    def _read_partition(self, cluster: Cluster, index: int) -> list[Record]:
        partition = leading_partition(cluster, self.topic, index)
        if partition is None or partition.log is None:
            self._cursors.pop(index, None)
            return []
        log = partition.log
        cursor = self._cursors.get(index)
        if cursor is None or cursor.log is not log or log.log_end_offset < cursor.next_offset:
            cursor = self._cursors[index] = _Cursor(log)
        bound = log.last_stable_offset if self._committed else log.high_watermark
        start = max(cursor.next_offset, log.log_start_offset)
        if start < bound:
            cursor.records += [
                record
                for record in self.iterate(log, index, start, bound)
                if self._where is None or self._where(record)
            ]
            cursor.next_offset = bound
        return cursor.records

    def iterate(self, log: UnifiedLog, index: int, start: int, bound: int) -> Iterator[Record]:
        """The records of one log from `start` to before `bound`, decoded."""
        from mockbroker_protocol.records.batch import iterate_records

        aborted = _aborted_batches(log, start) if self._committed else frozenset()
        for header, batch in log.iterate_batches(start):
            if header.base_offset >= bound:
                return
            if header.is_control or header.base_offset in aborted:
                continue
            for record in iterate_records(batch, 0, header):
                if start <= record.offset < bound:
                    key, value = record.key, record.value
                    yield Record(
                        self.topic,
                        index,
                        record.offset,
                        record.timestamp,
                        self._decode_key(key) if self._decode_key and key is not None else key,
                        self._decode(value) if self._decode and value is not None else value,
                        list(record.headers),
                    )


def read_page(
    cluster: Cluster,
    topic: str,
    index: int,
    offset: int,
    *,
    limit: int,
    isolation: str = READ_UNCOMMITTED,
    only: bool = False,
) -> RecordPage:
    """At most `limit` records of a topic that exists, from a position on, by partition and offset.

    Large records make it shorter. With `only` the page ends with that partition. Only the batches
    of the page are parsed.
    """
    page = _Page(limit)
    last = index if only else len(cluster.metadata.topics[topic].partitions) - 1
    while index <= last:
        partition = leading_partition(cluster, topic, index)
        log = None if partition is None else partition.log
        if log is not None:
            committed = isolation == READ_COMMITTED
            bound = log.last_stable_offset if committed else log.high_watermark
            start = max(offset, log.log_start_offset)
            if start < bound:
                reader = TopicReader(topic, isolation=isolation)
                for record in reader.iterate(log, index, start, bound):
                    if not page.takes(record):
                        return RecordPage(page.records, index, record.offset)
        index, offset = index + 1, 0
    return RecordPage(page.records, None, None)


def read_replica_page(
    cluster: Cluster, topic: str, index: int, offset: int, node_id: int, *, limit: int
) -> RecordPage:
    """At most `limit` records that one broker has stored of a partition, up to its log's end.

    Raises ControlError when there is no such broker.
    """
    log = cluster.controls.log(topic, index, node_id)
    if log is None:
        return RecordPage([], None, None)
    start = max(offset, log.log_start_offset)
    page = _Page(limit)
    for record in TopicReader(topic).iterate(log, index, start, log.log_end_offset):
        if not page.takes(record):
            return RecordPage(page.records, index, record.offset)
    return RecordPage(page.records, None, None)


def _aborted_batches(log: UnifiedLog, start: int) -> frozenset[int]:
    """Base offsets of the batches from `start` on whose transaction was aborted (KIP-98).

    Read backwards: the next marker of a producer says what became of its batches before it. That
    marker may stand behind the last stable offset.
    """
    from mockbroker_protocol.records.batch import (
        CONTROL_ABORT,
        iterate_records,
        parse_control_record,
    )

    batches = [
        (header, batch if header.is_control else None)
        for header, batch in log.iterate_batches(start)
        if header.is_transactional
    ]
    was_aborted: dict[int, bool] = {}
    aborted = set()
    for header, marker in reversed(batches):
        if marker is not None:
            kinds = [parse_control_record(one)[0] for one in iterate_records(marker, 0, header)]
            was_aborted[header.producer_id] = kinds == [CONTROL_ABORT]
        elif was_aborted.get(header.producer_id):
            aborted.add(header.base_offset)
    return frozenset(aborted)
