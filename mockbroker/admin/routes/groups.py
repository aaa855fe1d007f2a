"""Groups: list, look at, offsets, lag, wait for, delete."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fastapi import APIRouter
from pydantic import BaseModel, Field

from mockbroker.admin.deps import (
    INT32_MAX,
    INT64_MAX,
    MAX_TIMEOUT_MS,
    Body,
    Cursor,
    GroupId,
    Limit,
    Prefix,
    TheHost,
)
from mockbroker.admin.paging import page_of
from mockbroker.admin.problems import ApiError, problems
from mockbroker.admin.waiting import Met, wait_until
from mockbroker.state import groups

if TYPE_CHECKING:
    from mockbroker.cluster.cluster import Cluster
    from mockbroker_protocol.errors import ErrorCode

router = APIRouter(tags=["groups"])

_COMMIT_TIMEOUT_MS: Final = 10_000


class GroupOut(BaseModel):
    """One group in a list; `state` is Kafka's word for it, `type` is classic or consumer.

    Of a consumer group (KIP-848) `generation_id` is its epoch and `protocol` its assignor.
    """

    group_id: str
    type: str
    state: str
    generation_id: int
    protocol: str
    members: int
    lag: int


class MemberOut(BaseModel):
    """One member; `assignment` holds partitions by topic.

    In a classic group it is empty while the group rebalances, and `epoch` is null.
    """

    member_id: str
    client_id: str
    client_host: str
    group_instance_id: str | None
    assignment: dict[str, list[int]]
    epoch: int | None


class OffsetOut(BaseModel):
    """One partition of a group; `offset` null: nothing was committed."""

    topic: str
    partition: int
    offset: int | None
    lag: int | None


class GroupDetails(GroupOut):
    """One group with its members and offsets."""

    member_list: list[MemberOut]
    offsets: list[OffsetOut]


class LeaseOut(BaseModel):
    """Offsets that a member was handed out, ends included, and for how long it has them."""

    first: int
    last: int
    member_id: str
    deliveries: int
    left_ms: float


class PieceOut(BaseModel):
    """Offsets that nobody has, ends included, and how often they were handed out."""

    first: int
    last: int
    deliveries: int


class SharingOut(BaseModel):
    """One partition that a group shares; ranges have both ends in them.

    `ranges` are committed beyond `stable`, `pending` in open transactions; `owners` are the slots
    of keys that members read. `leases`, `free`, `given_up` and `marker`, the first offset that was
    never handed out, are of cooperative fetches.
    """

    topic: str
    partition: int
    stable: int | None
    ranges: list[tuple[int, int]]
    pending: list[tuple[int, int]]
    owners: dict[str, list[tuple[int, int]]]
    marker: int | None
    leases: list[LeaseOut]
    free: list[PieceOut]
    given_up: list[PieceOut]


class SharingPage(BaseModel):
    """A page of the partitions that a group shares."""

    partitions: list[SharingOut]


class Ended(BaseModel):
    """How many leases ended."""

    ended: int


class GroupPage(BaseModel):
    """A page of groups, by id."""

    groups: list[GroupOut]
    next_cursor: str | None


class OffsetIn(Body):
    """An offset to commit."""

    topic: str = Field(max_length=249)
    partition: int = Field(ge=0, le=INT32_MAX)
    offset: int = Field(ge=0, le=INT64_MAX)


class OffsetsIn(Body):
    """Offsets to commit for a group that has no members."""

    offsets: list[OffsetIn] = Field(min_length=1, max_length=100_000)


class GroupWanted(Body):
    """What to wait for: every condition that is given must hold."""

    state: str | None = Field(None, max_length=100, examples=["Stable"])
    members: int | None = Field(None, ge=0, le=INT32_MAX)
    lag_at_most: int | None = Field(None, ge=0, le=INT64_MAX)
    timeout_ms: int = Field(5000, ge=0, le=MAX_TIMEOUT_MS)


@router.get("/groups")
async def list_groups(
    host: TheHost, prefix: Prefix = None, limit: Limit = 100, cursor: Cursor = None
) -> GroupPage:
    """List groups by id."""

    def look(cluster: Cluster) -> GroupPage:
        page, following = page_of(groups.group_ids(cluster), cursor, limit, prefix)
        return GroupPage(
            groups=[_summary(cluster, group_id) for group_id in page], next_cursor=following
        )

    return host.act(look)


@router.get("/groups/{group_id:name}", responses=problems(404))
async def get_group(host: TheHost, group_id: GroupId) -> GroupDetails:
    """One group with its members, offsets and lag."""
    return host.act(lambda cluster: _details(cluster, group_id))


@router.get("/groups/{group_id:name}/sharing")
async def get_sharing(host: TheHost, group_id: GroupId) -> SharingPage:
    """The partitions that a group shares, where `coop.extension.enable` is on: ranges, leases."""

    def look(cluster: Cluster) -> SharingPage:
        return SharingPage(
            partitions=[
                SharingOut(
                    **one._asdict()
                    | {"topic": topic, "partition": index}
                    | {"leases": [LeaseOut(**each._asdict()) for each in one.leases]}
                    | {"free": [PieceOut(**each._asdict()) for each in one.free]}
                    | {"given_up": [PieceOut(**each._asdict()) for each in one.given_up]}
                )
                for (topic, index), one in groups.sharing(cluster, group_id).items()
            ]
        )

    return host.act(look)


@router.post("/groups/{group_id:name}/leases/expire")
async def expire_leases(host: TheHost, group_id: GroupId) -> Ended:
    """End all leases of a group's cooperative fetches, as if their time were over."""
    return host.act(lambda cluster: Ended(ended=groups.expire_leases(cluster, group_id)))


@router.put("/groups/{group_id:name}/offsets", responses=problems(409))
async def commit_offsets(host: TheHost, group_id: GroupId, wanted: OffsetsIn) -> GroupDetails:
    """Commit offsets from outside. 409 while the group has members."""
    outcome: list[ErrorCode] = []

    def commit(cluster: Cluster) -> None:
        offsets = {(one.topic, one.partition): one.offset for one in wanted.offsets}
        groups.commit_offsets(cluster, group_id, offsets, outcome)

    host.act(groups.ensure_coordinators)
    host.act(commit)
    written = await wait_until(
        host, lambda _: bool(outcome), lambda _: "the commit was not replicated", _COMMIT_TIMEOUT_MS
    )
    if not written.met:
        raise ApiError(409, f"group {group_id}: {written.explanation}")
    groups.check_commit(group_id, outcome)
    return host.act(lambda cluster: _details(cluster, group_id))


@router.delete("/groups/{group_id:name}", status_code=204, responses=problems(404))
async def remove_group(host: TheHost, group_id: GroupId) -> None:
    """Forget a group and its offsets; members are told that they are unknown."""

    def remove(cluster: Cluster) -> None:
        _check(cluster, group_id)
        groups.delete_group(cluster, group_id)

    host.act(remove)


@router.post("/groups/{group_id:name}/wait")
async def wait_for_group(host: TheHost, group_id: GroupId, wanted: GroupWanted) -> Met:
    """Wait until a group is as wanted; it need not exist yet."""

    def fits(cluster: Cluster) -> bool:
        group = groups.describe_group(cluster, group_id)
        if wanted.state is not None and group.state.lower() != wanted.state.lower():
            return False
        if wanted.members is not None and len(group.members) != wanted.members:
            return False
        if wanted.lag_at_most is None:
            return True
        lag = groups.lag(cluster, group_id)
        return bool(lag) and sum(lag.values()) <= wanted.lag_at_most

    def explain(cluster: Cluster) -> str:
        group = groups.describe_group(cluster, group_id)
        lag = sum(groups.lag(cluster, group_id).values())
        return f"group {group_id} is {group.state}, members: {len(group.members)}, lag: {lag}"

    return await wait_until(host, fits, explain, wanted.timeout_ms)


def _check(cluster: Cluster, group_id: str) -> None:
    known = groups.group_ids(cluster)
    if group_id not in known:
        names = ", ".join(known[:20]) or "none"
        raise ApiError(404, f"there is no group {group_id!r}; groups: {names}", "group_id")


def _summary(cluster: Cluster, group_id: str) -> GroupOut:
    group = groups.describe_group(cluster, group_id)
    return GroupOut(
        group_id=group_id,
        type=group.group_type,
        state=group.state,
        generation_id=group.generation_id,
        protocol=group.protocol,
        members=len(group.members),
        lag=sum(groups.lag(cluster, group_id).values()),
    )


def _details(cluster: Cluster, group_id: str) -> GroupDetails:
    _check(cluster, group_id)
    committed = groups.committed_offsets(cluster, group_id)
    lag = groups.lag(cluster, group_id)
    return GroupDetails(
        **_summary(cluster, group_id).model_dump(),
        member_list=[
            MemberOut(**member._asdict())
            for member in groups.describe_group(cluster, group_id).members
        ],
        offsets=[
            OffsetOut(
                topic=topic,
                partition=index,
                offset=committed.get((topic, index)),
                lag=lag.get((topic, index)),
            )
            for topic, index in sorted({*committed, *lag})
        ],
    )
