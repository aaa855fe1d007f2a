"""The broker's time: look at it, freeze it, advance it, jump, let it run faster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter
from pydantic import BaseModel, Field

from mockbroker.admin.deps import Body, TheHost
from mockbroker.admin.host import Host
from mockbroker.admin.problems import ApiError

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker.network.timekeeper import TimeKeeper

router = APIRouter(tags=["clock"])

Milliseconds = Annotated[float, Field(allow_inf_nan=False)]


class ClockOut(BaseModel):
    """The time now: `now_ms` runs from the start and never back, `wall_ms` is since 1970."""

    now_ms: float
    wall_ms: int
    frozen: bool
    rate: float


class Advance(Body):
    """How far to let time pass; with `wall` false the wall time stays."""

    ms: Milliseconds = Field(ge=0)
    wall: bool = True


class Jump(Body):
    """How far to move the wall time alone, either way."""

    ms: Milliseconds


class Rate(Body):
    """Seconds that pass for the broker in one of the machine."""

    rate: float = Field(gt=0, allow_inf_nan=False)


@router.get("/clock")
async def get_clock(host: TheHost) -> ClockOut:
    """What time it is for the broker."""
    return _out(host)


@router.post("/clock/freeze")
async def freeze(host: TheHost) -> ClockOut:
    """Stop the time."""
    return _move(host, "", lambda keeper: keeper.freeze())


@router.post("/clock/unfreeze")
async def unfreeze(host: TheHost) -> ClockOut:
    """Let time pass on."""
    return _move(host, "", lambda keeper: keeper.unfreeze())


@router.post("/clock/advance")
async def advance(host: TheHost, by: Advance) -> ClockOut:
    """Let time pass at once: all that is due on the way has run when this is answered."""
    try:
        await host.advance(by.ms, wall=by.wall)
    except ValueError as error:
        raise ApiError(422, str(error), "ms") from None
    return _out(host)


@router.post("/clock/jump")
async def jump(host: TheHost, by: Jump) -> ClockOut:
    """Move the wall time alone, as a correction of the clock does; no deadline comes nearer."""
    return _move(host, "ms", lambda keeper: keeper.jump(by.ms))


@router.put("/clock/rate")
async def set_rate(host: TheHost, wanted: Rate) -> ClockOut:
    """Let time run faster or slower."""
    return _move(host, "rate", lambda keeper: keeper.set_rate(wanted.rate))


def _move(host: Host, field: str, verb: Callable[[TimeKeeper], None]) -> ClockOut:
    """Do it in a step; what the clock refuses is about `field`."""
    try:
        host.act(lambda _: verb(host.timekeeper))
    except ValueError as error:
        raise ApiError(422, str(error), field) from None
    return _out(host)


def _out(host: Host) -> ClockOut:
    keeper = host.timekeeper
    return ClockOut(
        now_ms=keeper.now_ms(), wall_ms=keeper.wall_ms, frozen=keeper.frozen, rate=keeper.rate
    )
