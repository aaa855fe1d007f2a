"""What brokers are configured to, and where each value comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from mockbroker.admin.deps import INT32_MAX, TheHost
from mockbroker.admin.problems import ApiError, problems
from mockbroker.config.describe import describe_broker

if TYPE_CHECKING:
    from mockbroker.cluster.cluster import Cluster

router = APIRouter(tags=["configs"])


class ConfigOut(BaseModel):
    """One config; `value` is null of a sensitive one."""

    name: str
    value: str | None
    source: str = Field(description="DEFAULT_CONFIG, STATIC_BROKER_CONFIG, DYNAMIC_BROKER_CONFIG …")
    type: str
    sensitive: bool
    read_only: bool = Field(description="It cannot be changed while the broker runs")


class ConfigList(BaseModel):
    """The configs of one broker, by name, as DescribeConfigs tells them."""

    node_id: int
    configs: list[ConfigOut]


@router.get("/configs", responses=problems(404))
async def list_configs(
    host: TheHost,
    node_id: Annotated[
        int | None, Query(ge=0, le=INT32_MAX, description="Of which broker; the first one")
    ] = None,
) -> ConfigList:
    """The configs of a broker that runs."""

    def look(cluster: Cluster) -> ConfigList:
        for broker in cluster.brokers:
            if node_id in (None, broker.services.broker_id):
                return ConfigList(
                    node_id=broker.services.broker_id,
                    configs=[
                        ConfigOut(
                            name=row.name,
                            value=row.value,
                            source=row.source.name,
                            type=row.type.name,
                            sensitive=row.sensitive,
                            read_only=row.read_only,
                        )
                        for row in describe_broker(broker.services.config)
                    ],
                )
        raise ApiError(404, f"no broker {node_id} runs", "node_id")

    return host.act(look)
