"""Health for containers, and metrics for Prometheus. Neither is under /v1.

Metric names are those of Kafka's MBeans in the form that Prometheus' JMX exporter gives them:
`kafka_server_FetchSessionCache_NumIncrementalFetchSessions`.
"""

from __future__ import annotations

import re
from typing import Final

from fastapi import APIRouter
from fastapi.responses import PlainTextResponse
from pydantic import BaseModel

from mockbroker.admin.deps import TheHost
from mockbroker.admin.problems import ProblemResponse, problem_response, problems

router = APIRouter(tags=["health"])

_TEXT: Final = "text/plain; version=0.0.4; charset=utf-8"
_UNFIT: Final = re.compile(r"[^a-zA-Z0-9_]")
_COUNTERS: Final = ("PerSec", "Opened", "Refused", "Requests", "Answered", "Saved")


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
    """Every metric of every broker, as Prometheus reads it."""

    def read() -> dict[int, dict[str, float]]:
        return {broker.services.broker_id: broker.metrics() for broker in host.cluster.brokers}

    return PlainTextResponse(exposition(host.act(lambda _: read())), media_type=_TEXT)


def exposition(values: dict[int, dict[str, float]]) -> str:
    """Prometheus' text format of metrics by MBean name, by broker."""
    families: dict[str, list[str]] = {}
    for broker_id, by_name in values.items():
        for mbean, value in by_name.items():
            name, labels = _name_and_labels(mbean)
            labels["broker"] = str(broker_id)
            text = ",".join(f'{key}="{_escaped(label)}"' for key, label in labels.items())
            families.setdefault(name, []).append(f"{name}{{{text}}} {_number(value)}")
    lines = []
    for name, samples in sorted(families.items()):
        kind = "counter" if name.endswith(_COUNTERS) else "gauge"
        lines += [f"# TYPE {name} {kind}", *samples]
    return "\n".join([*lines, ""])


def _name_and_labels(mbean: str) -> tuple[str, dict[str, str]]:
    domain, _, properties = mbean.partition(":")
    pairs = dict(part.partition("=")[::2] for part in properties.split(","))
    words = [domain, pairs.pop("type"), pairs.pop("name")]
    labels = {_UNFIT.sub("_", key): value for key, value in pairs.items()}
    return _UNFIT.sub("_", "_".join(words)), labels


def _number(value: float) -> str:
    """All of its digits; a whole number without a fraction."""
    return str(int(value)) if float(value).is_integer() else repr(value)


def _escaped(label: str) -> str:
    return label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
