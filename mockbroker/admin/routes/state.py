"""Reset, snapshots by name, and going back to them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import BaseModel

from mockbroker.admin.deps import TheHost
from mockbroker.admin.problems import ApiError, problems
from mockbroker.state.snapshot import Snapshot, restore, take
from mockbroker.state.snapshot_compare import differences
from mockbroker.state.snapshot_file import from_bytes, to_bytes

if TYPE_CHECKING:
    from collections.abc import MutableMapping

router = APIRouter(tags=["state"])

MAX_SNAPSHOTS = 100
SnapshotName = Annotated[str, Path(max_length=200)]


class SnapshotOut(BaseModel):
    """One snapshot and the topics in it."""

    name: str
    topics: list[str]


class SnapshotList(BaseModel):
    """The snapshots that are kept, by name; they are gone when the broker ends."""

    snapshots: list[SnapshotOut]


class DifferenceOut(BaseModel):
    """One thing that differs; `topic` is null of the cluster, `partition` of a whole topic."""

    topic: str | None
    partition: int | None
    what: str
    before: str
    after: str


class Differences(BaseModel):
    """What differs, by topic; none when both are alike."""

    differences: list[DifferenceOut]


@router.post("/reset", status_code=204)
async def reset_broker(host: TheHost) -> None:
    """Make the broker as it was when it started: its first topics, no groups, no faults."""
    host.reset()


@router.get("/snapshots")
async def list_snapshots(request: Request) -> SnapshotList:
    """The snapshots that are kept."""
    kept = _kept(request)
    return SnapshotList(snapshots=[_out(name, kept[name]) for name in sorted(kept)])


@router.get(
    "/snapshot-file",
    response_class=Response,
    responses={200: {"content": {"application/zip": {}}}, **problems(409)},
)
async def get_snapshot_file(host: TheHost) -> Response:
    """All that the broker holds now, as a file that --restore and `restore` take."""
    snapshot = host.act(take)
    return Response(await asyncio.to_thread(to_bytes, snapshot), media_type="application/zip")


@router.post(
    "/snapshot-file/restore",
    status_code=204,
    responses=problems(409),
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/octet-stream": {"schema": {"type": "string"}}},
        }
    },
)
async def restore_snapshot_file(request: Request, host: TheHost) -> None:
    """Make the broker hold what the file has, and nothing else; a bad one changes nothing."""
    snapshot = await asyncio.to_thread(from_bytes, await request.body())
    host.act(lambda cluster: restore(cluster, snapshot))


@router.put("/snapshots/{name:name}", responses=problems(409))
async def take_snapshot(request: Request, host: TheHost, name: SnapshotName) -> SnapshotOut:
    """Keep all that the broker holds now under a name; an older one of that name goes."""
    kept = _kept(request)
    if name not in kept and len(kept) >= MAX_SNAPSHOTS:
        raise ApiError(409, f"there are {MAX_SNAPSHOTS} snapshots already: delete one", "name")
    kept[name] = host.act(take)
    return _out(name, kept[name])


@router.post("/snapshots/{name:name}/restore", status_code=204, responses=problems(404))
async def restore_snapshot(request: Request, host: TheHost, name: SnapshotName) -> None:
    """Make the broker hold what the snapshot has, and nothing else; clients stay connected."""
    snapshot = _find(request, name)
    host.act(lambda cluster: restore(cluster, snapshot))


@router.get("/snapshots/{name:name}/differences", responses=problems(404))
async def compare_snapshot(
    request: Request,
    host: TheHost,
    name: SnapshotName,
    other: Annotated[str | None, Query(max_length=200, description="null: what is now")] = None,
) -> Differences:
    """What is different in another snapshot, or now, from this one."""
    before = _find(request, name)
    after = host.act(take) if other is None else _find(request, other)
    return Differences(
        differences=[DifferenceOut(**one._asdict()) for one in differences(before, after)]
    )


@router.delete("/snapshots/{name:name}", status_code=204, responses=problems(404))
async def drop_snapshot(request: Request, name: SnapshotName) -> None:
    """Forget a snapshot."""
    _find(request, name)
    del _kept(request)[name]


def _kept(request: Request) -> MutableMapping[str, Snapshot]:
    kept: dict[str, Snapshot] = request.app.state.snapshots
    return kept


def _find(request: Request, name: str) -> Snapshot:
    kept = _kept(request)
    if name not in kept:
        names = ", ".join(sorted(kept)) or "none"
        raise ApiError(404, f"there is no snapshot {name!r}; snapshots: {names}", "name")
    return kept[name]


def _out(name: str, snapshot: Snapshot) -> SnapshotOut:
    return SnapshotOut(name=name, topics=[topic.name for topic in snapshot.topics])
