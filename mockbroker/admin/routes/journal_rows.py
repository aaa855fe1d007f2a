"""The journal as a table: rows, and one request field by field with its bytes."""

from __future__ import annotations

from base64 import b64encode
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any, Final

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field

from mockbroker.admin.deps import INT32_MAX, INT64_MAX, TheHost
from mockbroker.admin.problems import ApiError, problems
from mockbroker.admin.routes.journal import Listing
from mockbroker.journal.dissection import dissect_request, dissect_response, text_of
from mockbroker.journal.lines import line_of
from mockbroker.state.request_rows import find, numbered, row_of, writer_of

if TYPE_CHECKING:
    from mockbroker.cluster.cluster import Cluster
    from mockbroker.journal.dissection import Dissected

router = APIRouter(tags=["journal"])

_MAX_BYTES: Final = 64 << 10
_MAX_FIELDS: Final = 5000


class RowOut(BaseModel):
    """One request; `number` is its cursor. Times are on the broker's clock."""

    number: int
    api: str
    version: int
    client_id: str
    broker: int
    connection: int
    topics: list[str]
    groups: list[str]
    transactional_ids: list[str]
    about: str = Field(description="Partitions with offsets and counts of records")
    request_bytes: int
    response_bytes: int
    arrived_ms: float
    completed_ms: float
    cause: str = Field(description="What completed it, as docs/journal.md says")
    answered: bool
    errors: list[int]
    fault: str | None


class RowPage(BaseModel):
    """Rows, oldest first. `next_cursor` gives what comes after, now or later."""

    rows: list[RowOut]
    first: int = Field(description="Number of the oldest request that is kept")
    next_cursor: int
    more: bool = Field(description="Whether the journal has more behind `next_cursor`")
    newest: int = Field(description="Number of the newest request")


class RowsWanted(Listing):
    """The parameters of a page of rows."""

    budget_ms: float = Field(
        50.0, gt=0, le=1000, allow_inf_nan=False, description="The page ends when it took so long"
    )


class FieldOut(BaseModel):
    """One field of a message, or an element of an array; its bytes are `[start, end)`."""

    depth: int
    name: str
    type: str
    value: str
    start: int
    end: int


class MessageOut(BaseModel):
    """One message as it was on the wire, with its length in front."""

    name: str
    size_bytes: int
    data: str = Field(description="The first 64 KiB, in base64; secrets are blanked")
    fields: list[FieldOut] = Field(description="5,000 at most, in wire order")
    fields_left_out: int
    problem: str | None = Field(description="Why the fields end early")


class DissectedOut(BaseModel):
    """One request; `request` and `response` are null when their bytes were let go."""

    row: RowOut
    line: dict[str, Any] = Field(description="The `request` line of docs/journal.md")
    request: MessageOut | None
    response: MessageOut | None


class WriterOut(BaseModel):
    """The request that wrote a record; null when it is not kept (any more)."""

    number: int | None


@router.get("/journal/rows")
async def list_rows(host: TheHost, wanted: Annotated[RowsWanted, Query()]) -> RowPage:
    """The requests that are still kept and match, as rows of a table, from a cursor on."""
    query, since, limit = wanted.query(), wanted.since, wanted.limit

    def look(cluster: Cluster) -> RowPage:
        began = perf_counter()
        journal = cluster.journal
        kept = numbered(journal, since)
        first = journal.cursor() - len(numbered(journal)) + 1
        rows: list[RowOut] = []
        position, more = min(max(since, first - 1), journal.cursor()), False
        for number, served in kept:
            spent_ms = (perf_counter() - began) * 1000
            if len(rows) == limit or (spent_ms > wanted.budget_ms and number != kept[0][0]):
                more = True
                break
            position = number
            if next(query.mismatches(served, journal), None) is None:
                rows.append(RowOut.model_construct(**row_of(number, served, journal)._asdict()))
        return RowPage.model_construct(
            rows=rows, first=first, next_cursor=position, more=more, newest=journal.cursor()
        )

    return host.act(look)


@router.get("/journal/requests/{number}", responses=problems(404))
async def get_request(
    host: TheHost, number: Annotated[int, Path(ge=1, le=INT64_MAX)]
) -> DissectedOut:
    """One request and its answer: the line of the journal, each field with its bytes."""

    def look(cluster: Cluster) -> DissectedOut:
        journal = cluster.journal
        served = find(journal, number)
        if served is None:
            raise ApiError(404, f"request {number} is not kept", "number")
        return DissectedOut(
            row=RowOut(**row_of(number, served, journal)._asdict()),
            line=line_of(served, journal.topic_name),
            request=_message(dissect_request(served)),
            response=_message(dissect_response(served)),
        )

    return host.act(look)


@router.get("/journal/writer")
async def find_writer(
    host: TheHost,
    topic: Annotated[str, Query(max_length=249)],
    partition: Annotated[int, Query(ge=0, le=INT32_MAX)],
    offset: Annotated[int, Query(ge=0, le=INT64_MAX)],
) -> WriterOut:
    """Which Produce wrote a record, by the answers that are kept."""
    return WriterOut(
        number=host.act(lambda cluster: writer_of(cluster.journal, topic, partition, offset))
    )


def _message(found: Dissected | None) -> MessageOut | None:
    if found is None:
        return None
    return MessageOut(
        name=found.name,
        size_bytes=len(found.data),
        data=b64encode(found.data[:_MAX_BYTES]).decode(),
        fields=[
            FieldOut(
                depth=span.depth,
                name=span.name,
                type=span.type,
                value=text_of(span),
                start=span.start,
                end=span.end,
            )
            for span in found.fields[:_MAX_FIELDS]
        ],
        fields_left_out=max(0, len(found.fields) - _MAX_FIELDS),
        problem=found.problem,
    )
