"""The cluster: its brokers and their connections, and what a test does to them."""

from __future__ import annotations

from base64 import b64encode
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter
from pydantic import BaseModel, Field, WithJsonSchema

from mockbroker.admin.deps import Body, GroupId, TheHost
from mockbroker.admin.problems import ApiError, problems
from mockbroker.cluster.actions import ActionError, check, perform, schema
from mockbroker.cluster.node_controls import ControlError
from mockbroker.state.telemetry import pushed_metrics

if TYPE_CHECKING:
    from mockbroker.admin.host import Host
    from mockbroker.cluster.cluster import Cluster

router = APIRouter(tags=["cluster"])


class BrokerOut(BaseModel):
    """One broker; a fenced one is lost to the controller, whether it runs or not."""

    node_id: int
    rack: str | None
    running: bool
    fenced: bool
    connections: int
    log_bytes: int | None = Field(description="What its logs hold, where that has a limit")
    memory_limit_bytes: int | None = Field(description="What they may hold; null: without end")


class ClusterOut(BaseModel):
    """The cluster; `bootstrap_servers` is what clients are given."""

    mockbroker: str
    cluster_id: str
    bootstrap_servers: str
    topics: int
    groups: int
    brokers: list[BrokerOut]
    journal_problem: str | None = Field(description="Why the journal's files end: a full disk")
    journal_page: bool = Field(
        description="Whether /v1/journal/page has what `analyze` made of them"
    )


class ConnectionOut(BaseModel):
    """One client connection."""

    broker: int
    connection: int
    peer: str
    listener: str
    client_id: str
    software: str | None = Field(description="Library and version, as its ApiVersions told")
    principal: str = Field(description="Who its client is; User:ANONYMOUS before a login")
    mechanism: str | None = Field(description="SASL mechanism that the client chose")
    tls_version: str | None = Field(description="null without TLS")
    tls_cipher: str | None = Field(description="Its cipher suite, by the registered name")
    requests: int
    opened_ms: float


class ConnectionList(BaseModel):
    """The connections that are open."""

    connections: list[ConnectionOut]


class ActionsIn(Body):
    """Actions on the cluster, done one after the other; docs/cluster.md says what each does."""

    actions: list[Annotated[dict[str, Any], WithJsonSchema(schema())]] = Field(
        min_length=1, max_length=1000, examples=[[{"action": "kill", "node_id": 2}]]
    )


class CoordinatorOut(BaseModel):
    """Who coordinates a group; -1: nobody does."""

    group_id: str
    node_id: int


class MetricsOut(BaseModel):
    """What the brokers count, summed, by the names of docs/python-api.md."""

    metrics: dict[str, float]


class PushedOut(BaseModel):
    """One push of a client's own metrics (KIP-714); `metrics` are OTLP bytes in base64."""

    client_instance_id: str = Field(description="In hexadecimal")
    client_id: str
    subscription_id: int
    terminating: bool
    metrics: str
    pushed_ms: int


class ClientMetrics(BaseModel):
    """What clients pushed, oldest first."""

    client_metrics: list[PushedOut]


@router.get("/metrics")
async def get_metrics(host: TheHost) -> MetricsOut:
    """The broker's metrics as numbers by name; /metrics has them for Prometheus."""
    return MetricsOut(metrics=host.act(lambda _: host.metrics()))


@router.get("/client-metrics")
async def get_client_metrics(host: TheHost) -> ClientMetrics:
    """The metrics that clients pushed of themselves, as far as they are kept."""
    pushed = [
        PushedOut(
            **{
                **one._asdict(),
                "client_instance_id": one.client_instance_id.hex(),
                "metrics": b64encode(one.metrics).decode(),
            }
        )
        for one in host.act(pushed_metrics)
    ]
    return ClientMetrics(client_metrics=pushed)


@router.get("/cluster")
async def get_cluster(host: TheHost) -> ClusterOut:
    """Who serves, and how much there is."""
    return _look(host)


@router.post("/cluster/actions", responses=problems(409))
async def act_on_cluster(host: TheHost, wanted: ActionsIn) -> ClusterOut:
    """Kill and revive brokers, move leaders, hold followers, cut links.

    Each action is a step of the cluster. What makes no sense is refused (422) before any is done;
    with 409 those before the one that `field` names have been done.
    """
    for at, action in enumerate(wanted.actions):
        try:
            check(action)
        except ActionError as error:
            where = f"actions.{at}.{error.field}"
            raise ApiError(422, f"actions.{at}.{error}", where) from None
    for at, action in enumerate(wanted.actions):
        try:
            host.act(partial(perform, action))
        except ControlError as error:
            raise ApiError(409, str(error), f"actions.{at}") from None
    return _look(host)


@router.get("/cluster/coordinators/{group_id:name}")
async def get_coordinator(host: TheHost, group_id: GroupId) -> CoordinatorOut:
    """Which broker coordinates a group, also one that is not there yet."""
    node_id = host.act(lambda cluster: cluster.controls.coordinator(group_id))
    return CoordinatorOut(group_id=group_id, node_id=node_id)


def _look(host: Host) -> ClusterOut:
    def look(cluster: Cluster) -> ClusterOut:
        from mockbroker.state.groups import group_ids
        from mockbroker.state.partitions import topic_names

        files = host.journal_writer
        connections = {
            broker.services.broker_id: len(broker.connections()) for broker in cluster.brokers
        }
        memory = {
            broker.services.broker_id: limited
            for broker in cluster.brokers
            if (limited := broker.services.replicas.log_memory) is not None
        }
        return ClusterOut(
            mockbroker=host.version,
            cluster_id=cluster.metadata.cluster_id,
            journal_problem=None if files is None else files.problem,
            journal_page=files is not None and files.page is not None,
            bootstrap_servers=host.bootstrap_servers,
            topics=len(topic_names(cluster)),
            groups=len(group_ids(cluster)),
            brokers=[
                BrokerOut(
                    node_id=node_id,
                    rack=info.rack,
                    running=node_id in connections,
                    fenced=info.fenced,
                    connections=connections.get(node_id, 0),
                    log_bytes=memory[node_id].held_bytes if node_id in memory else None,
                    memory_limit_bytes=memory[node_id].limit_bytes if node_id in memory else None,
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
                    software=" ".join(broker.services.client_software.get(connection.id, ()))
                    or None,
                    principal=connection.principal,
                    mechanism=broker.services.mechanism_of(connection.id),
                    tls_version=connection.tls.version if connection.tls else None,
                    tls_cipher=connection.tls.cipher if connection.tls else None,
                    requests=connection.requests,
                    opened_ms=connection.opened_ms,
                )
                for broker in cluster.brokers
                for connection in broker.connections()
            ]
        )

    return host.act(look)
