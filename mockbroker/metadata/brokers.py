"""A broker as the cluster knows it, and the address that a client is told for it.

Metadata, DescribeCluster and FindCoordinator ask `broker_endpoint`; the shell says where a broker
listens by applying a `BrokerChanged`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from mockbroker_protocol.named_tuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping


UNKNOWN_EPOCH: Final = -1
"""The epoch of a broker that does not tell it."""


class Endpoint(NamedTuple):
    """Where one listener is advertised; what is None, a client is told as it connected."""

    host: str | None = None
    port: int | None = None


NO_ENDPOINTS: Final[Mapping[str, Endpoint]] = {}


class BrokerInfo(NamedTuple):
    """One broker: its endpoints by listener name. Never mutated; a change brings a new one.

    `epoch` grows with each registration. A fenced broker is not led by nor shown to clients; one
    that shuts down (`leaving`) still serves, and is given nothing new.
    """

    node_id: int
    endpoints: Mapping[str, Endpoint] = NO_ENDPOINTS
    rack: str | None = None
    fenced: bool = False
    leaving: bool = False
    epoch: int = 0

    @property
    def active(self) -> bool:
        """Whether it may be elected and join in-sync sets (Kafka: ClusterControlManager.active)."""
        return not self.fenced and not self.leaving


def is_stale(broker: BrokerInfo | None, epoch: int) -> bool:
    """Whether the broker has registered anew since that epoch, if one was told (KIP-903)."""
    return broker is not None and UNKNOWN_EPOCH < epoch < broker.epoch


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
