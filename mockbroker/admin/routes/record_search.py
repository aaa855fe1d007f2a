"""Records of a topic by key, text and time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Query, Request
from pydantic import Field

from mockbroker.admin.deps import INT64_MAX, TheHost, TopicName
from mockbroker.admin.problems import ApiError, problems
from mockbroker.admin.routes.records import Place, RecordPage, records_out
from mockbroker.state.record_search import Wanted, search
from mockbroker.state.writing import no_topic

if TYPE_CHECKING:
    from mockbroker.cluster.cluster import Cluster
    from mockbroker.state.record_search import Found

router = APIRouter(tags=["records"])


class FoundPage(RecordPage):
    """Records that fit; `next_partition` and `next_offset` go on, null at the end."""

    looked_at: int = Field(description="Records that were looked at, 5,999 at most")


class Search(Place):
    """What is looked for, and where the search goes on."""

    key: str | None = Field(None, max_length=4096)
    contains: str | None = Field(None, max_length=4096)
    since_ms: int | None = Field(None, ge=0, le=INT64_MAX, description="ms since 1970")


@router.get("/topics/{name:name}/search", responses=problems(404))
async def search_records(
    request: Request, host: TheHost, name: TopicName, asked: Annotated[Search, Query()]
) -> FoundPage:
    """Find records by their whole key, by text in key, value or headers, by time.

    A page may be empty though there is more: go on until `next_partition` is null.
    """
    wanted = Wanted(
        None if asked.key is None else asked.key.encode(),
        None if asked.contains is None else asked.contains.encode(),
        asked.since_ms,
    )

    def look(cluster: Cluster) -> Found:
        if name not in cluster.metadata.topics:
            raise ApiError(404, no_topic(cluster, name), "name")
        return search(cluster, name, wanted, asked.partition, asked.offset, limit=asked.limit)

    found = host.act(look)
    return FoundPage(
        records=await records_out(request, found.records, asked.decode),
        next_partition=found.next_partition,
        next_offset=found.next_offset,
        looked_at=found.looked_at,
    )
