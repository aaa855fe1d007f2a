"""Health for containers, and metrics for Prometheus. Neither is under /v1."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter
from fastapi.responses import PlainTextResponse
from pydantic import BaseModel

from mockbroker.admin.deps import TheHost
from mockbroker.admin.metrics import exposition
from mockbroker.admin.problems import ProblemResponse, problem_response, problems

router = APIRouter(tags=["health"])

_TEXT: Final = "text/plain; version=0.0.4; charset=utf-8"


class Health(BaseModel):
    """That it lives, or that clients may use it."""

    status: str


@router.get("/health/live")
async def live() -> Health:
    """Whether the process answers."""
    return Health(status="live")


@router.get("/health/ready", response_model=Health, responses=problems(503))
async def ready(host: TheHost) -> Health | ProblemResponse:
    """Whether clients may use it: 503 while no broker is alive."""
    alive = host.act(lambda cluster: cluster.metadata.alive_brokers())
    if not alive:
        return problem_response(503, "no broker is alive")
    return Health(status="ready")


@router.get("/metrics", response_class=PlainTextResponse)
async def metrics(host: TheHost) -> PlainTextResponse:
    """What the cluster counts, as Prometheus reads it."""
    text = host.act(lambda cluster: exposition(cluster, host.version))
    return PlainTextResponse(text, media_type=_TEXT)
