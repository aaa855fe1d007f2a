"""A broker as the cluster knows it, and the address that a client is told for it.

Metadata, DescribeCluster and FindCoordinator ask `broker_endpoint`; the shell says where a broker
listens by applying a `BrokerChanged`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping


class Endpoint:
    """Where one listener is advertised; what is None, a client is told as it connected."""

    __slots__ = ("host", "port")

    def __init__(self, host: str | None = None, port: int | None = None) -> None:
        self.host = host
        self.port = port


class BrokerInfo:
    """One broker: its endpoints by listener name. Never mutated; a change brings a new one."""

    __slots__ = ("endpoints", "fenced", "node_id", "rack")

    def __init__(
        self,
        node_id: int,
        endpoints: Mapping[str, Endpoint] | None = None,
        rack: str | None = None,
        *,
        fenced: bool = False,
    ) -> None:
        self.node_id = node_id
        self.endpoints = endpoints or {}
        self.rack = rack
        self.fenced = fenced


class ConnectedClient(Protocol):
    """What an endpoint depends on; `apis.context.RequestContext` is one."""

    listener: str
    local_address: tuple[str, int]


def broker_endpoint(client: ConnectedClient, broker: BrokerInfo) -> tuple[str, int]:
    """Host and port that this client should use to reach the broker.

    An advertised address wins. Without one it is the address that the client has connected to, so
    that port forwarding, containers and host names of any kind work unconfigured.
    """
    host, port = client.local_address
    endpoint = broker.endpoints.get(client.listener)
    if endpoint is not None:
        if endpoint.host is not None:
            host = endpoint.host
        if endpoint.port is not None:
            port = endpoint.port
    return host, port
