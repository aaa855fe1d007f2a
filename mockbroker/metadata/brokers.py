"""A broker as the cluster knows it, and the address that a client is told for it.

Metadata, DescribeCluster and FindCoordinator ask `broker_endpoint`, the controller `may_lead`; the
shell says where a broker listens by applying a `BrokerChanged`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

COPIES_NOTHING: Final = "brokers of this process copy nothing from brokers outside of it"
"""Why no broker of this process is a follower of a remote one."""


class Endpoint:
    """Where one listener is advertised; what is None, a client is told as it connected."""

    __slots__ = ("host", "port")

    def __init__(self, host: str | None = None, port: int | None = None) -> None:
        self.host = host
        self.port = port


class BrokerInfo:
    """One broker: its endpoints by listener name. Never mutated; a change brings a new one.

    `epoch` grows with each registration. A fenced broker is not led by nor shown to clients; one
    that shuts down (`leaving`) still serves, and is given nothing new. A `remote` one is a process
    of its own that has registered over a controller's listener.
    """

    __slots__ = ("endpoints", "epoch", "fenced", "leaving", "node_id", "rack", "remote")

    def __init__(
        self,
        node_id: int,
        endpoints: Mapping[str, Endpoint] | None = None,
        rack: str | None = None,
        *,
        fenced: bool = False,
        leaving: bool = False,
        remote: bool = False,
        epoch: int = 0,
    ) -> None:
        self.node_id = node_id
        self.endpoints = endpoints or {}
        self.rack = rack
        self.fenced = fenced
        self.leaving = leaving
        self.remote = remote
        self.epoch = epoch

    @property
    def active(self) -> bool:
        """Whether it may be elected and join in-sync sets (Kafka: ClusterControlManager.active)."""
        return not self.fenced and not self.leaving

    def altered(
        self,
        *,
        fenced: bool | None = None,
        leaving: bool | None = None,
        epoch: int | None = None,
        endpoints: Mapping[str, Endpoint] | None = None,
    ) -> BrokerInfo:
        """The same broker in another state."""
        return BrokerInfo(
            self.node_id,
            self.endpoints if endpoints is None else endpoints,
            self.rack,
            fenced=self.fenced if fenced is None else fenced,
            leaving=self.leaving if leaving is None else leaving,
            remote=self.remote,
            epoch=self.epoch if epoch is None else epoch,
        )


def may_lead(brokers: Mapping[int, BrokerInfo], node_id: int, replicas: Sequence[int]) -> bool:
    """Whether a broker may lead a partition that has these replicas.

    A remote one may not beside a broker of this process, which would follow it and copy nothing:
    that replica would hold up acks=all, and be elected without what was acknowledged.
    """
    broker = brokers.get(node_id)
    if broker is None or not broker.active:
        return False
    return not broker.remote or not any(
        other.active and not other.remote
        for other in map(brokers.get, replicas)
        if other is not None
    )


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
