"""Fetch sessions with their partitions, and the requests that wait."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field

from mockbroker.admin.deps import INT32_MAX, TheHost
from mockbroker.admin.problems import ApiError, problems
from mockbroker.state import fetching

if TYPE_CHECKING:
    from mockbroker.cluster.cluster import Cluster

router = APIRouter(tags=["fetching"])


class SessionOut(BaseModel):
    """One fetch session (KIP-227); times are on the broker's clock."""

    broker: int
    session_id: int
    epoch: int = Field(description="Expected of the next request")
    privileged: bool = Field(description="Of a follower")
    uses_topic_ids: bool
    partitions: int
    changed: int = Field(description="Partitions that the next poll looks at")
    ready: int = Field(description="Partitions with records to give")
    created_ms: float
    last_used_ms: float
    waits: int = Field(description="Fetches of it that are parked")
    request_bytes_saved: int = Field(description="Beside requests that name all its partitions")
    response_bytes_saved: int = Field(description="Beside answers that tell of all of them")


class SavedOut(BaseModel):
    """What the sessions of one broker saved, and how many made room for others."""

    broker: int
    sessions: int
    evictions: int
    request_bytes_saved: int
    response_bytes_saved: int


class SessionList(BaseModel):
    """All sessions, and what they saved by broker."""

    sessions: list[SessionOut]
    brokers: list[SavedOut]
    now_ms: float


class SessionPartitionOut(BaseModel):
    """One partition of a session: what its reader knows, and what there is."""

    topic: str
    partition: int
    state: str = Field(description="quiet, ready or changed")
    fetch_offset: int
    high_watermark_known: int | None = Field(description="null: it does not tell (KIP-1166)")
    high_watermark_told: int = Field(description="-1: no answer told it yet")
    high_watermark: int | None
    log_end_offset: int | None


class SessionPartitions(BaseModel):
    """The first 1,000 partitions of a session."""

    partitions: list[SessionPartitionOut]


class WaitOut(BaseModel):
    """One request that is parked."""

    broker: int
    connection: int
    client_id: str
    api: str
    version: int
    since_ms: float
    until_ms: float | None = Field(description="null: no field of the request says so")
    session_id: int | None
    keys: list[str] = Field(description="What it waits on: topics, groups, a session")
    about: str
    wakes: str = Field(description="What ends the wait")


class WaitList(BaseModel):
    """The requests that wait, who has waited longest first."""

    waits: list[WaitOut]
    now_ms: float


@router.get("/fetch-sessions")
async def list_sessions(host: TheHost) -> SessionList:
    """The fetch sessions of all brokers that run."""

    def look(cluster: Cluster) -> SessionList:
        return SessionList(
            sessions=[SessionOut(**one._asdict()) for one in fetching.sessions(cluster)],
            brokers=[SavedOut(**one._asdict()) for one in fetching.savings(cluster)],
            now_ms=cluster.clock.now_ms,
        )

    return host.act(look)


@router.get("/fetch-sessions/{broker}/{session_id}", responses=problems(404))
async def get_session(
    host: TheHost,
    broker: Annotated[int, Path(ge=0, le=INT32_MAX)],
    session_id: Annotated[int, Path(ge=0, le=INT32_MAX)],
) -> SessionPartitions:
    """The partitions of one session: the high watermark as its reader knows it."""
    found = host.act(lambda cluster: fetching.session_partitions(cluster, broker, session_id))
    if found is None:
        raise ApiError(404, f"broker {broker} has no session {session_id}", "session_id")
    return SessionPartitions(partitions=[SessionPartitionOut(**one._asdict()) for one in found])


@router.get("/waits")
async def list_waits(host: TheHost) -> WaitList:
    """Who waits, on what, since when, until when, and what would end it."""

    def look(cluster: Cluster) -> WaitList:
        return WaitList(
            waits=[WaitOut(**one._asdict()) for one in fetching.waits(cluster)],
            now_ms=cluster.clock.now_ms,
        )

    return host.act(look)
