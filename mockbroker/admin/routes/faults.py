"""Fault rules: arm, list, look at their hits, release what they hold back, disarm.

A rule's fields are those of docs/faults.md, {"preset": NAME, …} stands for the rules of a preset;
`mockbroker.faults` checks them and names what is wrong.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field

from mockbroker.admin.deps import Body, Cursor, Limit, TheHost
from mockbroker.admin.paging import page_of
from mockbroker.admin.problems import ApiError, problems
from mockbroker.faults.presets import PRESETS

if TYPE_CHECKING:
    from mockbroker.cluster.cluster import Cluster
    from mockbroker.faults.fault_set import ArmedFault

router = APIRouter(tags=["faults"])

FaultId = Annotated[str, Path(max_length=4096)]


class FaultOut(BaseModel):
    """One rule in force, or exhausted and not yet removed."""

    id: str
    rule: dict[str, Any]
    hits: int = Field(description="How often it fired")
    matched: int = Field(description="How often a request fitted")
    exhausted: bool
    waiting: int = Field(description="Requests that it holds back")


class FaultPage(BaseModel):
    """A page of rules, by id."""

    faults: list[FaultOut]
    next_cursor: str | None


class FaultsIn(Body):
    """Rules to arm, all or none."""

    rules: list[dict[str, Any]] = Field(
        min_length=1,
        max_length=1000,
        examples=[
            [{"api": "Produce", "error": "NOT_LEADER_OR_FOLLOWER", "count": 1}],
            [{"preset": "leader_moved", "topic": "orders"}],
        ],
    )


class Armed(BaseModel):
    """The rules that were armed."""

    faults: list[FaultOut]


class Presets(BaseModel):
    """Presets by name, each with what it does."""

    presets: dict[str, str]


class Released(BaseModel):
    """How many requests go on now."""

    released: int


@router.get("/faults")
async def list_faults(host: TheHost, limit: Limit = 100, cursor: Cursor = None) -> FaultPage:
    """List the rules with their hits."""

    def look(cluster: Cluster) -> FaultPage:
        armed = {one.id: one for one in cluster.faults.list()}
        page, following = page_of(sorted(armed), cursor, limit)
        return FaultPage(faults=[_out(armed[one]) for one in page], next_cursor=following)

    return host.act(look)


@router.get("/fault-presets")
async def list_presets() -> Presets:
    """What presets there are."""
    return Presets(presets={name: _summary(made) for name, made in PRESETS.items()})


@router.post("/faults", status_code=201)
async def arm_faults(host: TheHost, wanted: FaultsIn) -> Armed:
    """Arm rules. A rule that could never match is refused (422), with the field that is wrong."""

    def arm(cluster: Cluster) -> Armed:
        ids = cluster.faults.add(*wanted.rules)
        return Armed(faults=[_out(_find(cluster, one)) for one in ids])

    return host.act(arm)


@router.delete("/faults", status_code=204)
async def clear_faults(host: TheHost) -> None:
    """Disarm every rule; what they hold back goes on."""
    host.act(lambda cluster: cluster.faults.clear())


@router.get("/faults/{fault_id}", responses=problems(404))
async def get_fault(host: TheHost, fault_id: FaultId) -> FaultOut:
    """One rule with its hits."""
    return host.act(lambda cluster: _out(_find(cluster, fault_id)))


@router.delete("/faults/{fault_id}", status_code=204, responses=problems(404))
async def remove_fault(host: TheHost, fault_id: FaultId) -> None:
    """Disarm a rule; what it holds back goes on."""

    def remove(cluster: Cluster) -> None:
        _find(cluster, fault_id)
        cluster.faults.remove(fault_id)

    host.act(remove)


@router.post("/faults/{fault_id}/release", responses=problems(404))
async def release_fault(host: TheHost, fault_id: FaultId) -> Released:
    """Let go what a rule holds back by `park`; the rule stays."""

    def release(cluster: Cluster) -> Released:
        _find(cluster, fault_id)
        return Released(released=cluster.faults.release(fault_id))

    return host.act(release)


def _summary(made: object) -> str:
    return (made.__doc__ or "").partition("\n")[0]


def _find(cluster: Cluster, fault_id: str) -> ArmedFault:
    for armed in cluster.faults.list():
        if armed.id == fault_id:
            return armed
    raise ApiError(404, f"there is no fault {fault_id!r}", "fault_id")


def _out(armed: ArmedFault) -> FaultOut:
    return FaultOut(
        id=armed.id,
        rule=armed.fault.to_dict(),
        hits=armed.hits,
        matched=armed.matched,
        exhausted=armed.exhausted,
        waiting=len(armed.waiting),
    )
