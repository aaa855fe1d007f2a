"""A topic over the admin API."""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import TYPE_CHECKING, Any, Final, TypeVar, Unpack

from mockbroker.admin.client import AdminClient, segment
from mockbroker.state.reading import READ_COMMITTED, Record, TopicReader
from mockbroker.state.writing import Position, TopicError
from mockbroker.testing.remote.refusals import refused_as
from mockbroker.testing.topic_view import TopicDescription, TopicView, decoded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from mockbroker.state.reading import Reading
    from mockbroker.state.writing import NewRecord

__tracebackhide__ = True

T = TypeVar("T")

_PAGE: Final = 1000
_PUT_VALUES: Final = 50_000
_PUT_BYTES: Final = 4 << 20
"""What one request holds: the admin API has limits. A larger record has one for itself."""


class RemoteTopicView(TopicView[AdminClient]):
    """A topic of a broker elsewhere."""

    @property
    def _path(self) -> str:
        return f"/v1/topics/{segment(self.name)}"

    def _reader(self, **how: Unpack[Reading]) -> RemoteReader:
        return RemoteReader(self.name, **how)

    def _put(self, records: Sequence[NewRecord], take: Callable[[list[Position]], T]) -> T:
        def put(client: AdminClient) -> T:
            positions: list[Position] = []
            for part in _parts(records):
                body = {"records": [_to_send(one) for one in part]}
                with refused_as(TopicError):
                    found = client.send("POST", f"{self._path}/records", body, wait_seconds=10)
                positions += [Position(self.name, **one) for one in found["positions"]]
            return take(positions)

        return self._bridge.call(put)

    def _create(
        self,
        source: AdminClient,
        partitions: int | None,
        replication_factor: int | None,
        config: Mapping[str, str],
    ) -> None:
        body = {
            "name": self.name,
            "partitions": partitions,
            "replication_factor": replication_factor,
            "configs": dict(config),
        }
        with refused_as(TopicError):
            source.send("POST", "/v1/topics", body)

    def _delete(self, source: AdminClient) -> None:
        with refused_as(TopicError):
            source.send("DELETE", self._path)

    def _delete_records(self, source: AdminClient) -> None:
        with refused_as(TopicError):
            source.send("DELETE", f"{self._path}/records")

    def _describe(self, source: AdminClient) -> TopicDescription | None:
        found = source.find(self._path)
        return None if found is None else TopicDescription(found["partitions"], found["configs"])

    def _missing(self, source: AdminClient) -> str:
        names = ", ".join(topic_names(source)) or "none"
        return f"there is no topic {self.name!r}; topics: {names}"

    def _end_offsets(self, source: AdminClient) -> dict[int, int]:
        found = source.find(self._path)
        partitions = [] if found is None else found["partition_list"]
        return {one["partition"]: one["high_watermark"] or 0 for one in partitions}


class _Cursor:
    """How far one partition was read, and what was found."""

    __slots__ = ("identity", "next_offset", "records")

    def __init__(self, identity: tuple[str, int]) -> None:
        self.identity = identity
        self.next_offset = 0
        self.records: list[Record] = []


class RemoteReader:
    """As `TopicReader`: each `read` fetches what is new.

    A topic that was made anew, and a partition of another leader epoch, whose log may have been cut
    off, are read from the start again.
    """

    def __init__(self, topic: str, **how: Unpack[Reading]) -> None:
        TopicReader(topic, **how)  # it says what is wrong with them
        self._topic = topic
        self._how = how
        self._cursors: dict[int, _Cursor] = {}

    def read(self, source: AdminClient) -> list[Record]:
        """Every record so far that counts, by partition and offset; [] without such a topic."""
        found = source.find(f"/v1/topics/{segment(self._topic)}")
        wanted = self._how.get("partition")
        records: list[Record] = []
        for partition in () if found is None else found["partition_list"]:
            if wanted in (None, partition["partition"]):
                records += self._read_partition(source, found["topic_id"], partition)
        return records

    def _read_partition(
        self, source: AdminClient, topic_id: str, partition: Mapping[str, Any]
    ) -> list[Record]:
        index = partition["partition"]
        isolation = self._how.get("isolation")
        name = "last_stable_offset" if isolation == READ_COMMITTED else "high_watermark"
        bound = partition[name] or 0
        identity = topic_id, partition["leader_epoch"]
        cursor = self._cursors.get(index)
        if cursor is None or cursor.identity != identity or bound < cursor.next_offset:
            cursor = self._cursors[index] = _Cursor(identity)
        if cursor.next_offset < bound:
            for record in read_records(
                source, self._topic, index, cursor.next_offset, isolation=isolation
            ):
                bound = max(bound, record.offset + 1)
                one = decoded(record, self._how)
                if one is not None:
                    cursor.records.append(one)
            cursor.next_offset = bound
        return cursor.records


def topic_names(client: AdminClient) -> list[str]:
    """The topics that are no coordinator's, in order."""
    return [topic["name"] for topic in client.pages("/v1/topics", "topics")]


def read_records(
    client: AdminClient, topic: str, partition: int, offset: int, **query: object
) -> Iterator[Record]:
    """The records of one partition from an offset on, page by page."""
    position: int | None = offset
    while position is not None:
        page = client.get(
            f"/v1/topics/{segment(topic)}/records",
            partition=partition,
            offset=position,
            only=True,
            limit=_PAGE,
            **query,
        )
        for record in page["records"]:
            yield Record(
                topic,
                record["partition"],
                record["offset"],
                record["timestamp"],
                _bytes(record, "key"),
                _bytes(record, "value"),
                [(header["name"], _bytes(header, "value")) for header in record["headers"]],
            )
        position = page["next_offset"]


def _bytes(data: Mapping[str, Any], field: str) -> bytes | None:
    text = data[field]
    if text is None:
        return None
    return b64decode(text) if data[f"{field}_encoding"] == "base64" else str(text).encode()


def _parts(records: Sequence[NewRecord]) -> Iterator[list[NewRecord]]:
    """The records in as many requests as the limits of one want."""
    part: list[NewRecord] = []
    values = size_bytes = 0
    for record in records:
        size = len(record.value or b"") + len(record.key or b"")
        size += sum(len(name) + len(data or b"") for name, data in record.headers)
        if part and (values > _PUT_VALUES or size_bytes + size > _PUT_BYTES):
            yield part
            part, values, size_bytes = [], 0, 0
        part.append(record)
        values += 10 + 4 * len(record.headers)
        size_bytes += size
    if part:
        yield part


def _to_send(record: NewRecord) -> dict[str, object]:
    return {
        **_encoded("value", record.value),
        **_encoded("key", record.key),
        "headers": [{"name": name, **_encoded("value", data)} for name, data in record.headers],
        "timestamp": record.timestamp,
        "partition": record.partition,
    }


def _encoded(field: str, data: bytes | None) -> dict[str, object]:
    if data is None:
        return {field: None}
    return {field: b64encode(data).decode(), f"{field}_encoding": "base64"}
