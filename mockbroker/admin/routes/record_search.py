"""Records of a topic by key, text and time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from mockbroker.admin.deps import INT32_MAX, INT64_MAX, Limit, TheHost, TopicName
from mockbroker.admin.problems import ApiError, problems
from mockbroker.admin.routes.records import RecordPage, record_out
from mockbroker.state.record_search import Wanted, search
from mockbroker.state.writing import no_topic

if TYPE_CHECKING:
    from mockbroker.cluster.cluster import Cluster

router = APIRouter(tags=["records"])

Text = Annotated[str | None, Query(max_length=4096)]


class FoundPage(RecordPage):
    """Records that fit; `next_partition` and `next_offset` go on, null at the end."""

    looked_at: int = Field(description="Records that were looked at, 5,999 at most")


@router.get("/topics/{name}/search", responses=problems(404))
async def search_records(
    host: TheHost,
    name: TopicName,
    key: Text = None,
    contains: Text = None,
    since_ms: Annotated[int | None, Query(ge=0, le=INT64_MAX, description="ms since 1970")] = None,
    partition: Annotated[int, Query(ge=0, le=INT32_MAX, description="Where to begin")] = 0,
    offset: Annotated[int, Query(ge=0, le=INT64_MAX, description="Where to begin in it")] = 0,
    limit: Limit = 100,
) -> FoundPage:
    """Find records by their whole key, by text in key, value or headers, by time.

    A page may be empty though there is more: go on until `next_partition` is null.
    """
    wanted = Wanted(
        None if key is None else key.encode(),
        None if contains is None else contains.encode(),
        since_ms,
    )

    def look(cluster: Cluster) -> FoundPage:
        if name not in cluster.metadata.topics:
            raise ApiError(404, no_topic(cluster, name), "name")
        found = search(cluster, name, wanted, partition, offset, limit=limit)
        return FoundPage(
            records=[record_out(record) for record in found.records],
            next_partition=found.next_partition,
            next_offset=found.next_offset,
            looked_at=found.looked_at,
        )

    return host.act(look)
