"""Fault rules: arm, list, look at their hits, release what they hold back, disarm.

A rule's fields are those of docs/faults.md, {"preset": NAME, …} stands for the rules of a preset;
`mockbroker.faults` checks them and names what is wrong.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field

from mockbroker.admin.deps import (
    INT32_MAX,
    INT64_MAX,
    MAX_TIMEOUT_MS,
    Body,
    Cursor,
    Limit,
    TheHost,
)
from mockbroker.admin.paging import page_of
from mockbroker.admin.problems import ApiError, problems
from mockbroker.admin.waiting import Met, wait_until
from mockbroker.faults.presets import PRESETS
from mockbroker.state.verdict import nearest, take_away, verdict

if TYPE_CHECKING:
    from mockbroker.cluster.cluster import Cluster
    from mockbroker.faults.armed_fault import ArmedFault

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
    idle: int = Field(description="How often it fired and found nothing to act on")
    problem: str | None = Field(description="The last error of its `when`, which then says no")


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


class HitsIn(Body):
    """How many hits to wait for; those that there are already count too."""

    hits: int = Field(1, ge=1, le=INT32_MAX)
    timeout_ms: int = Field(5000, ge=0, le=MAX_TIMEOUT_MS)


class VerifyIn(Body):
    """What counts; without `strict` as the broker was started."""

    strict: bool | None = None
    spared: list[str] = Field(
        default_factory=list, max_length=10_000, description="Rules that may still fire"
    )
    rules: list[str] | None = Field(
        None, max_length=10_000, description="These rules and nothing else; they are disarmed"
    )
    since: int = Field(0, ge=0, le=INT64_MAX, description="Cursor of the journal, for `nearest`")


class UnfiredOut(BaseModel):
    """A rule that never fired: why, and the requests that came nearest to it."""

    id: str
    rule: dict[str, Any]
    reason: str
    nearest: list[str]


class VerdictOut(BaseModel):
    """What should fail a test; `clean` when nothing should. `text` says it for people."""

    clean: bool
    unfired: list[UnfiredOut]
    refused: list[str]
    text: str


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


@router.get("/faults/{fault_id:name}", responses=problems(404))
async def get_fault(host: TheHost, fault_id: FaultId) -> FaultOut:
    """One rule with its hits."""
    return host.act(lambda cluster: _out(_find(cluster, fault_id)))


@router.delete("/faults/{fault_id:name}", status_code=204, responses=problems(404))
async def remove_fault(host: TheHost, fault_id: FaultId) -> None:
    """Disarm a rule; what it holds back goes on."""

    def remove(cluster: Cluster) -> None:
        _find(cluster, fault_id)
        cluster.faults.remove(fault_id)

    host.act(remove)


@router.post("/faults/{fault_id:name}/release", responses=problems(404))
async def release_fault(host: TheHost, fault_id: FaultId) -> Released:
    """Let go what a rule holds back by `park`; the rule stays."""

    def release(cluster: Cluster) -> Released:
        _find(cluster, fault_id)
        return Released(released=cluster.faults.release(fault_id))

    return host.act(release)


@router.post("/faults/{fault_id:name}/wait", responses=problems(404))
async def wait_for_hits(host: TheHost, fault_id: FaultId, wanted: HitsIn) -> Met:
    """Wait until a rule fired so often."""
    armed = host.act(lambda cluster: _find(cluster, fault_id))

    def explain(cluster: Cluster) -> str:
        reason, lines = nearest(cluster.journal, armed, 0)
        first = f"{armed.hits} of {wanted.hits} hit(s) of fault {fault_id}: {reason}"
        return "\n  ".join([first, *(["the nearest others:"] if lines else []), *lines])

    return await wait_until(
        host, lambda _cluster: armed.hits >= wanted.hits, explain, wanted.timeout_ms
    )


@router.post("/verify")
async def verify(host: TheHost, wanted: VerifyIn) -> VerdictOut:
    """What should fail the test that ends now: rules that never fired, and refused requests.

    What it tells it tells once. Refused requests count in strict mode alone.
    """
    strict = host.strict if wanted.strict is None else wanted.strict
    rules = wanted.rules
    if rules is not None:
        found = host.act(lambda cluster: take_away(cluster, rules))
    else:
        found = host.act(
            lambda cluster: verdict(
                cluster, since=wanted.since, strict=strict, spared=wanted.spared
            )
        )
    return VerdictOut(
        clean=found.is_clean,
        unfired=[UnfiredOut(**one._asdict()) for one in found.unfired],
        refused=found.refused,
        text=str(found),
    )


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
        idle=armed.idle,
        problem=armed.problem,
    )
