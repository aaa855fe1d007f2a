"""What this broker speaks: its APIs with their versions, and Kafka's names of error codes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import APIRouter
from pydantic import BaseModel, Field

from mockbroker.admin.deps import TheHost
from mockbroker_protocol.api_keys import ALL_SPECS
from mockbroker_protocol.errors import ErrorCode

if TYPE_CHECKING:
    from mockbroker.cluster.cluster import Cluster

router = APIRouter(tags=["protocol"])


class ApiOut(BaseModel):
    """One API; `first_flexible` is the first version with tagged fields, null: none has."""

    key: int
    name: str
    min_version: int
    max_version: int
    first_flexible: int | None
    requests: int = Field(description="How many were handled, of all brokers that run")


class ErrorOut(BaseModel):
    """An error code and its name."""

    code: int
    name: str


class ProtocolOut(BaseModel):
    """The APIs that the listeners of brokers serve, by key; errors by code."""

    mockbroker: str
    apis: list[ApiOut]
    errors: list[ErrorOut]


@router.get("/protocol")
async def get_protocol(host: TheHost) -> ProtocolOut:
    """The APIs that are served, and the names of errors."""

    def look(cluster: Cluster) -> list[ApiOut]:
        found: list[ApiOut] = []
        for key, spec in sorted(ALL_SPECS.items()):
            served = [
                api
                for broker in cluster.brokers
                if (api := broker.registry.get(spec.key)) is not None
            ]
            if served:
                found.append(
                    ApiOut(
                        key=key,
                        name=spec.name,
                        min_version=served[0].min_version,
                        max_version=served[0].max_version,
                        first_flexible=spec.flexible if spec.flexible <= spec.max_version else None,
                        requests=sum(api.requests for api in served),
                    )
                )
        return found

    return ProtocolOut(
        mockbroker=host.version,
        apis=host.act(look),
        errors=[ErrorOut(code=int(one), name=one.name) for one in ErrorCode],
    )
