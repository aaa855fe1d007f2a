"""The logs of a partition's replicas side by side, and the links that have faults."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field

from mockbroker.admin.deps import INT32_MAX, TheHost, TopicName
from mockbroker.admin.problems import ApiError, problems
from mockbroker.cluster.node_controls import ControlError
from mockbroker.state.replicas import faulty_links, replica_logs

if TYPE_CHECKING:
    from mockbroker.cluster.cluster import Cluster

router = APIRouter(tags=["replicas"])


class EpochOut(BaseModel):
    """A leader epoch and the first offset that was written in it."""

    epoch: int
    start_offset: int


class ReplicaOut(BaseModel):
    """One broker's log of a partition; offsets are null where nothing was stored."""

    node_id: int
    running: bool
    is_leader: bool
    in_sync: bool
    log_start_offset: int | None
    high_watermark: int | None
    log_end_offset: int | None
    size_bytes: int | None
    epochs: list[EpochOut]
    follower_held: bool = Field(description="By hold_follower")
    high_watermark_held: bool = Field(description="By hold_high_watermark")


class ReplicaList(BaseModel):
    """The replicas of a partition."""

    replicas: list[ReplicaOut]


class LinkOut(BaseModel):
    """A link with faults; -1 is the controller."""

    source: int
    target: int
    cut: bool
    held: bool
    delay_ms: float


class LinkList(BaseModel):
    """The links that do not carry everything at once."""

    links: list[LinkOut]


@router.get("/replicas/{name:name}/{partition}", responses=problems(404))
async def list_replicas(
    host: TheHost, name: TopicName, partition: Annotated[int, Path(ge=0, le=INT32_MAX)]
) -> ReplicaList:
    """What each broker has stored of a partition: offsets, and the epochs they were written in."""

    def look(cluster: Cluster) -> ReplicaList:
        try:
            found = replica_logs(cluster, name, partition)
        except ControlError as error:
            raise ApiError(404, str(error), "partition") from None
        return ReplicaList(
            replicas=[
                ReplicaOut(
                    **{
                        **one._asdict(),
                        "epochs": [EpochOut(epoch=e, start_offset=at) for e, at in one.epochs],
                    }
                )
                for one in found
            ]
        )

    return host.act(look)


@router.get("/links")
async def list_links(host: TheHost) -> LinkList:
    """The links between brokers, and to the controller, that are cut, held or slow."""
    return LinkList(links=[LinkOut(**one._asdict()) for one in host.act(faulty_links)])
