"""The cluster: its brokers and their connections."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import APIRouter
from pydantic import BaseModel

from mockbroker.admin.deps import TheHost

if TYPE_CHECKING:
    from mockbroker.cluster.cluster import Cluster

router = APIRouter(tags=["cluster"])


class BrokerOut(BaseModel):
    """One broker."""

    node_id: int
    rack: str | None
    fenced: bool
    connections: int


class ClusterOut(BaseModel):
    """The cluster; `bootstrap_servers` is what clients are given."""

    mockbroker: str
    cluster_id: str
    bootstrap_servers: str
    topics: int
    groups: int
    brokers: list[BrokerOut]


class ConnectionOut(BaseModel):
    """One client connection."""

    broker: int
    connection: int
    peer: str
    listener: str
    client_id: str
    requests: int
    opened_ms: float


class ConnectionList(BaseModel):
    """The connections that are open."""

    connections: list[ConnectionOut]


@router.get("/cluster")
async def get_cluster(host: TheHost) -> ClusterOut:
    """Who serves, and how much there is."""

    def look(cluster: Cluster) -> ClusterOut:
        from mockbroker.state.groups import group_ids
        from mockbroker.state.partitions import topic_names

        connections = {
            broker.services.broker_id: len(broker.connections()) for broker in cluster.brokers
        }
        return ClusterOut(
            mockbroker=host.version,
            cluster_id=cluster.metadata.cluster_id,
            bootstrap_servers=host.bootstrap_servers,
            topics=len(topic_names(cluster)),
            groups=len(group_ids(cluster)),
            brokers=[
                BrokerOut(
                    node_id=node_id,
                    rack=info.rack,
                    fenced=info.fenced,
                    connections=connections.get(node_id, 0),
                )
                for node_id, info in sorted(cluster.metadata.brokers.items())
            ],
        )

    return host.act(look)


@router.get("/connections")
async def list_connections(host: TheHost) -> ConnectionList:
    """The client connections that are open."""

    def look(cluster: Cluster) -> ConnectionList:
        return ConnectionList(
            connections=[
                ConnectionOut(
                    broker=broker.services.broker_id,
                    connection=connection.id,
                    peer=connection.peer,
                    listener=connection.listener,
                    client_id=connection.client_id,
                    requests=connection.requests,
                    opened_ms=connection.opened_ms,
                )
                for broker in cluster.brokers
                for connection in broker.connections()
            ]
        )

    return host.act(look)
