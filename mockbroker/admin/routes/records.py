"""Records of a topic: read, put, delete, wait for.

Bytes that are UTF-8 come as text, others as base64; `…_encoding` beside them says which.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import TYPE_CHECKING, Annotated, Final, Literal

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field, JsonValue

from mockbroker.admin.deps import (
    INT32_MAX,
    INT64_MAX,
    MAX_TIMEOUT_MS,
    Body,
    TheHost,
    TopicName,
)
from mockbroker.admin.problems import ApiError, problems
from mockbroker.admin.waiting import Met, wait_until
from mockbroker.state.reading import READ_UNCOMMITTED, TopicReader, read_page, read_replica_page
from mockbroker.state.seeds import data_of
from mockbroker.state.writing import NewRecord, Put, delete_records, no_topic

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mockbroker.admin.schemas.decoding import Decoded
    from mockbroker.cluster.cluster import Cluster
    from mockbroker.state.reading import Record
    from mockbroker.state.reading import RecordPage as Page

router = APIRouter(tags=["records"])

_LEADER_TIMEOUT_MS: Final = 10_000

Encoding = Literal["utf8", "base64"]
Isolation = Literal["read_uncommitted", "read_committed"]


class HeaderOut(BaseModel):
    """One header."""

    name: str
    value: str | None
    value_encoding: Encoding


class DecodedOut(BaseModel):
    """What the registry's schema makes of a key or a value."""

    schema_id: int
    type: str | None = Field(description="AVRO, PROTOBUF, JSON")
    name: str | None = Field(description="The record or message that it is")
    text: str | None = Field(description="JSON; null: see `problem`")
    problem: str | None = Field(description="Why it cannot be decoded")


class RecordOut(BaseModel):
    """One record; `timestamp` in ms since 1970, -1 without one.

    `…_decoded` are null unless `decode` asks for them, and for what was written without a registry.
    """

    partition: int
    offset: int
    timestamp: int
    key: str | None
    key_encoding: Encoding
    value: str | None
    value_encoding: Encoding
    headers: list[HeaderOut]
    key_decoded: DecodedOut | None = None
    value_decoded: DecodedOut | None = None


class RecordPage(BaseModel):
    """Records by partition and offset. `next_offset` continues with the same partition."""

    records: list[RecordOut]
    next_partition: int | None
    next_offset: int | None


class HeaderIn(Body):
    """One header of a record to put."""

    name: str = Field(max_length=32_767)
    value: JsonValue = None
    value_encoding: Encoding = "utf8"


class RecordIn(Body):
    """A record to put. Without a partition its key decides, as in Kafka's producers.

    As in a file (docs/config-file.md), what is neither text nor null is put as JSON.
    """

    value: JsonValue = Field(None, examples=["paid", {"id": 7}])
    value_encoding: Encoding = "utf8"
    key: JsonValue = Field(None, examples=["order-1"])
    key_encoding: Encoding = "utf8"
    headers: list[HeaderIn] | dict[str, JsonValue] = Field(
        default_factory=list, max_length=10_000, description="A list, or values by name"
    )
    timestamp: int | None = Field(None, ge=0, le=INT64_MAX, description="ms since 1970; null: now")
    partition: int | None = Field(None, ge=0, le=INT32_MAX)


class RecordsIn(Body):
    """Records to put, in this order."""

    records: list[RecordIn] = Field(min_length=1, max_length=10_000)


class PositionOut(BaseModel):
    """Where a record was put."""

    partition: int
    offset: int
    timestamp: int


class Positions(BaseModel):
    """Where each record was put, in the order of the request."""

    positions: list[PositionOut]


class Place(Body):
    """Where to begin, and how much of it is told."""

    partition: int = Field(0, ge=0, le=INT32_MAX, description="Where to begin")
    offset: int = Field(0, ge=0, le=INT64_MAX, description="Where to begin in it")
    limit: int = Field(100, ge=1, le=1000, description="How many at most")
    decode: bool = Field(False, description="Keys and values of a schema registry, too")


class Reading(Place):
    """The parameters of a page of records."""

    only: bool = Field(False, description="That partition and no other")
    isolation: Isolation = READ_UNCOMMITTED
    node_id: int | None = Field(
        None, ge=0, le=INT32_MAX, description="What this broker stored of that one partition"
    )


class RecordsWanted(Body):
    """How many records to wait for, and how long."""

    count: int = Field(1, ge=1, le=INT64_MAX)
    timeout_ms: int = Field(5000, ge=0, le=MAX_TIMEOUT_MS)
    partition: int | None = Field(None, ge=0, le=INT32_MAX)
    isolation: Isolation = READ_UNCOMMITTED


@router.get("/topics/{name:name}/records", responses=problems(404))
async def read_records(
    request: Request, host: TheHost, name: TopicName, wanted: Annotated[Reading, Query()]
) -> RecordPage:
    """Read records from a position on: the rest of that partition, then the next ones.

    With `node_id` what that broker has up to its log's end, whether it is up or not: also what
    stands behind the high watermark.
    """

    def read(cluster: Cluster) -> Page:
        _check(cluster, name)
        at, limit = (wanted.partition, wanted.offset), wanted.limit
        if wanted.node_id is not None:
            return read_replica_page(cluster, name, *at, wanted.node_id, limit=limit)
        return read_page(
            cluster, name, *at, limit=limit, isolation=wanted.isolation, only=wanted.only
        )

    page = host.act(read)
    return RecordPage(
        records=await records_out(request, page.records, wanted.decode),
        next_partition=page.next_partition,
        next_offset=page.next_offset,
    )


@router.post("/topics/{name:name}/records", status_code=201, responses=problems(409))
async def put_records(host: TheHost, name: TopicName, wanted: RecordsIn) -> Positions:
    """Put records; the topic is made where the broker makes topics by itself."""
    records = [_record(index, record) for index, record in enumerate(wanted.records)]
    put = Put(name, records)
    host.act(put.begin)
    ready = await wait_until(host, put.is_ready, put.explain, _LEADER_TIMEOUT_MS)
    if not ready.met:
        raise ApiError(409, str(ready.explanation), "name")
    positions = host.act(put.append)
    return Positions(
        positions=[
            PositionOut(partition=at.partition, offset=at.offset, timestamp=at.timestamp)
            for at in positions
        ]
    )


@router.delete("/topics/{name:name}/records", status_code=204, responses=problems(404))
async def clear_records(host: TheHost, name: TopicName) -> None:
    """Delete all records: the logs then start where they end."""

    def clear(cluster: Cluster) -> None:
        _check(cluster, name)
        delete_records(cluster, name)

    host.act(clear)


@router.post("/topics/{name:name}/wait")
async def wait_for_records(host: TheHost, name: TopicName, wanted: RecordsWanted) -> Met:
    """Wait until the topic holds that many records; the topic need not exist yet."""
    reader = TopicReader(name, partition=wanted.partition, isolation=wanted.isolation)

    def enough(cluster: Cluster) -> bool:
        return len(reader.read(cluster)) >= wanted.count

    def explain(cluster: Cluster) -> str:
        if name not in cluster.metadata.topics:
            return no_topic(cluster, name)
        return f"topic {name} holds {len(reader.read(cluster))} of {wanted.count} records"

    return await wait_until(host, enough, explain, wanted.timeout_ms)


def _check(cluster: Cluster, name: str) -> None:
    if name not in cluster.metadata.topics:
        raise ApiError(404, no_topic(cluster, name), "name")


async def records_out(request: Request, records: Sequence[Record], decode: bool) -> list[RecordOut]:
    """Records as they are told."""
    told = [_record_out(record) for record in records]
    if decode:
        decoder = request.app.state.decoder
        for one, record in zip(told, records, strict=True):
            one.key_decoded = _decoded_out(await decoder.decode(record.key))
            one.value_decoded = _decoded_out(await decoder.decode(record.value))
    return told


def _decoded_out(found: Decoded | None) -> DecodedOut | None:
    return None if found is None else DecodedOut(**found._asdict())


def _record_out(record: Record) -> RecordOut:
    key, key_encoding = _text(record.key)
    value, value_encoding = _text(record.value)
    headers = []
    for name, data in record.headers:
        text, encoding = _text(data)
        headers.append(HeaderOut(name=name, value=text, value_encoding=encoding))
    return RecordOut(
        partition=record.partition,
        offset=record.offset,
        timestamp=record.timestamp,
        key=key,
        key_encoding=key_encoding,
        value=value,
        value_encoding=value_encoding,
        headers=headers,
    )


def _text(data: bytes | None) -> tuple[str | None, Encoding]:
    if data is None:
        return None, "utf8"
    try:
        return bytes(data).decode(), "utf8"
    except UnicodeDecodeError:
        return b64encode(data).decode(), "base64"


def _record(index: int, record: RecordIn) -> NewRecord:
    where = f"records.{index}"
    if isinstance(record.headers, dict):
        headers = [(name, data_of(value)) for name, value in record.headers.items()]
    else:
        headers = [
            (
                header.name,
                _bytes(f"{where}.headers.{at}.value", header.value, header.value_encoding),
            )
            for at, header in enumerate(record.headers)
        ]
    return NewRecord(
        value=_bytes(f"{where}.value", record.value, record.value_encoding),
        key=_bytes(f"{where}.key", record.key, record.key_encoding),
        headers=headers,
        timestamp=record.timestamp,
        partition=record.partition,
    )


def _bytes(field: str, value: JsonValue, encoding: Encoding) -> bytes | None:
    if value is None or encoding == "utf8":
        return data_of(value)
    try:
        return b64decode(value if isinstance(value, str) else "-", validate=True)
    except ValueError:
        raise ApiError(422, f"{field}: it is not base64", field) from None
