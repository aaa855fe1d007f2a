"""The journal: the last requests as docs/journal.md has them, and expectations on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse
from pydantic import BaseModel, Field

from mockbroker.admin.deps import INT32_MAX, INT64_MAX, MAX_TIMEOUT_MS, Body, TheHost
from mockbroker.admin.problems import ApiError
from mockbroker.admin.waiting import Met, wait_until
from mockbroker.journal.lines import line_of
from mockbroker.state.report import report
from mockbroker.state.request_lines import tail
from mockbroker.state.requests import Filters, RequestQuery

if TYPE_CHECKING:
    from mockbroker.cluster.cluster import Cluster

router = APIRouter(tags=["journal"])

_MAX_DIGITS: Final = 10
_FILTERS: Final = {*Filters.__annotations__} - {"where"}
_TAIL_LINES = 1000
_PAGE_HEADERS: Final = {
    # Of no origin: its scripts run, and reach nothing of this one.
    "Content-Security-Policy": (
        "sandbox allow-scripts allow-popups; default-src 'none'; script-src 'unsafe-inline';"
        " style-src 'unsafe-inline'; img-src data: blob:; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-cache",
}


class RequestPage(BaseModel):
    """Requests, oldest first. `next_cursor` gives what comes after, now or later."""

    requests: list[dict[str, Any]] = Field(
        description="`request` lines of docs/journal.md, with `number`"
    )
    next_cursor: int
    more: bool = Field(description="Whether the journal has more that match")


class EventList(BaseModel):
    """What happened beside requests, oldest first, as far as it is kept."""

    events: list[dict[str, Any]] = Field(description="Other lines of docs/journal.md")


class CursorOut(BaseModel):
    """Where the journal stands, for `since`."""

    cursor: int


class Report(BaseModel):
    """A text for people."""

    text: str


class Tail(BaseModel):
    """The last requests, a line of text each."""

    lines: list[str]


class Wanted(Body):
    """What requests must be; what is left out is anything."""

    api: str | None = Field(None, max_length=100, examples=["OffsetCommit"])
    client: str | None = Field(None, max_length=32_767, description="A glob over client ids")
    topic: str | None = Field(None, max_length=249)
    group: str | None = Field(None, max_length=32_767)
    transactional_id: str | None = Field(None, max_length=32_767)
    error: int | bool | str | None = Field(
        None, description="A code or its name; true: any error; false: none"
    )
    fault: str | bool | None = Field(None, description="A rule's id; true: any rule")
    connection: int | None = Field(None, ge=0, le=INT64_MAX)
    since: int = Field(0, ge=0, le=INT64_MAX, description="A cursor: only what came after")

    def query(self) -> RequestQuery:
        """The query, also of a URL, where all is text."""
        filters: dict[str, Any] = self.model_dump(include=_FILTERS, exclude_none=True)
        for name in ("error", "fault"):
            if filters.get(name) in ("true", "false"):
                filters[name] = filters[name] == "true"
        for name in ("api", "error"):
            text = filters.get(name)
            if isinstance(text, str) and _is_number(text.removeprefix("-")):
                filters[name] = int(text)
        return RequestQuery(**filters)


class Listing(Wanted):
    """The parameters of a page of requests."""

    limit: int = Field(100, ge=1, le=1000, description="How many at most")


class Expectation(Wanted):
    """What to wait for."""

    times: int = Field(1, ge=1, le=INT32_MAX)
    timeout_ms: int = Field(5000, ge=0, le=MAX_TIMEOUT_MS)


@router.get("/journal")
async def list_requests(host: TheHost, wanted: Annotated[Listing, Query()]) -> RequestPage:
    """The requests that are still kept and match, from a cursor on."""
    query, since, limit = wanted.query(), wanted.since, wanted.limit

    def look(cluster: Cluster) -> RequestPage:
        journal = cluster.journal
        kept = list(journal.requests(since))
        position = journal.cursor() - len(kept)
        found: list[dict[str, Any]] = []
        for served in kept:
            if len(found) == limit:
                return RequestPage(requests=found, next_cursor=position, more=True)
            position += 1
            if next(query.mismatches(served, journal), None) is None:
                found.append(line_of(served, journal.topic_name) | {"number": position})
        return RequestPage(requests=found, next_cursor=max(position, since), more=False)

    return host.act(look)


@router.get("/journal/events")
async def list_events(host: TheHost) -> EventList:
    """Connections, sessions, refusals, changes of the clock and of faults."""

    def look(cluster: Cluster) -> EventList:
        journal = cluster.journal
        return EventList(events=[line_of(one, journal.topic_name) for one in journal.events()])

    return host.act(look)


@router.get("/journal/cursor")
async def get_cursor(host: TheHost) -> CursorOut:
    """Where the journal stands now."""
    return CursorOut(cursor=host.act(lambda cluster: cluster.journal.cursor()))


@router.get("/journal/tail")
async def get_tail(
    host: TheHost,
    lines: Annotated[int, Query(ge=1, le=_TAIL_LINES)] = 30,
    since: Annotated[int, Query(ge=0, le=INT64_MAX, description="Only what came after")] = 0,
) -> Tail:
    """The last requests for people."""
    return Tail(lines=host.act(lambda cluster: tail(cluster.journal, since, lines)))


@router.get("/journal/page", include_in_schema=False)
def get_page(
    host: TheHost,
    client: str = "",  # noqa: ARG001 -- what the page's own script reads
    topic: str = "",  # noqa: ARG001
    since: Annotated[str, Query(alias="from")] = "",  # noqa: ARG001
    until: Annotated[str, Query(alias="to")] = "",  # noqa: ARG001
) -> HTMLResponse:
    """The page that `mockbroker pipeline analyze` put beside the journal's files."""
    files = host.journal_writer
    page = None if files is None else files.page
    if page is None:
        raise ApiError(404, "there is no page of `analyze` beside the journal's files")
    return HTMLResponse(page.read_bytes(), headers=_PAGE_HEADERS)


@router.get("/report")
async def get_report(
    host: TheHost,
    lines: Annotated[int, Query(ge=0, le=_TAIL_LINES)] = 20,
    since: Annotated[int, Query(ge=0, le=INT64_MAX, description="Only what came after")] = 0,
) -> Report:
    """What the broker knows of a test that failed: requests, rules, topics and groups."""
    return Report(text=host.act(lambda cluster: report(cluster, since, lines)))


@router.post("/journal/expect")
async def expect(host: TheHost, wanted: Expectation) -> Met:
    """Wait for requests; those that are there already count too."""
    query = wanted.query()
    found, position = 0, wanted.since

    def enough(cluster: Cluster) -> bool:
        nonlocal found, position
        found += len(query.find(cluster.journal, position))
        position = max(position, cluster.journal.cursor())
        return found >= wanted.times

    def explain(cluster: Cluster) -> str:
        nearest = query.explain(cluster.journal, wanted.since)
        first = f"{found} of {wanted.times} request(s) with {query}"
        return "\n  ".join([first, *(["the nearest others:"] if nearest else []), *nearest])

    return await wait_until(host, enough, explain, wanted.timeout_ms)


def _is_number(text: str) -> bool:
    return text.isdecimal() and len(text) <= _MAX_DIGITS
