"""What travels between the nodes of a cluster: metadata, and the bytes of brokers' connections.

Brokers never call each other: bytes go over links to the other's `receive`, changes of metadata
over the link from the controller, and all of it arrives in `Cluster.drain`, at the end of a step.
One node alone has no links and sends nothing here. A broker of another process that has registered
is a target as any other: behind the link to it the shell carries the bytes (`Outside`).

Invariants: what was decided reaches every image before any broker's bytes of that step arrive
anywhere; all loops run in the order of node ids.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

from mockbroker.cluster.links.link import Links
from mockbroker.cluster.nodes import LISTENER
from mockbroker.config.logins import inter_broker_principal
from mockbroker.metadata.brokers import Endpoint
from mockbroker_protocol.errors import ProtocolError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mockbroker.clock import Clock, Timer
    from mockbroker.cluster.links.broker_client import BrokerClient
    from mockbroker.cluster.links.link import Link
    from mockbroker.cluster.links.metadata_feed import MetadataFeed
    from mockbroker.cluster.nodes import Node
    from mockbroker.node.broker import Broker
    from mockbroker.node.outbox import Outgoing
    from mockbroker_protocol.primitives import Buffer

REPLICATION_LISTENER = "REPLICATION"
NOWHERE: Final = Endpoint()


class Outside(Protocol):
    """The shell's connections to brokers of other processes, by the ids of their clients."""

    def send(self, connection_id: int, host: str, port: int, data: bytes) -> None:
        """Carry bytes to whoever listens there; the first ones connect."""

    def close(self, connection_id: int) -> None:
        """Hang up."""


class Interconnect:
    """The links between `nodes`, and the connections of brokers to brokers on them."""

    def __init__(self, nodes: Sequence[Node], clock: Clock, timer: Timer) -> None:
        self.nodes = nodes
        self.clock = clock
        self.timer = timer
        self.links = Links(clock, timer)
        self.feeds: list[MetadataFeed] = []
        """Those of the nodes that are up, if there are several, in the order of node ids."""
        self.controller: Node | None = None
        """There once the metadata log is served; it settles as the brokers do."""
        self.outside: Outside | None = None
        """Where a shell carries bytes to others; None: nobody else can be reached."""
        self._by_id = {node.node_id: node for node in nodes}
        self._clients: dict[int, BrokerClient] = {}
        self._connections_made = 0

    def node(self, node_id: int) -> Node | None:
        """The node of this id."""
        return self._by_id.get(node_id)

    def drain(self) -> None:
        """Let everything arrive that this step sent, and what that sent, until all is quiet."""
        nodes, links = self.nodes, self.links
        while True:
            while self.feeds and self._deliver_metadata():
                pass
            for node in nodes:
                if node.incarnation is not None:
                    node.incarnation.settle()
            if self.controller is not None and self.controller.incarnation is not None:
                self.controller.incarnation.settle()
            for node in nodes:
                if node.incarnation is not None:
                    broker = node.incarnation.broker
                    for outgoing in broker.take_for_brokers():
                        self._answer_broker(node, broker, outgoing)
            if not links.run() and not (self.feeds and self._deliver_metadata()):
                return

    def _deliver_metadata(self) -> bool:
        """Let the nodes hear what was decided; False when there is no news."""
        news = False
        for feed in self.feeds:
            if feed.ready:
                feed.deliver()
                news = True
        return news

    def _answer_broker(self, node: Node, broker: Broker, outgoing: Outgoing) -> None:
        """What a broker wants written is for another broker's client: send it there."""
        connection_id = outgoing.connection_id
        client = self._clients.get(connection_id)
        if client is None:
            return
        back = self.links.get(node.node_id, client.source)
        chunks = outgoing.chunks
        if chunks:
            data = chunks[0] if len(chunks) == 1 else b"".join(chunks)
            back.send(partial(self._answer, connection_id, data))
        if outgoing.close:
            broker.disconnect(connection_id, self.clock.now_ms)
            back.send(partial(self._reset, connection_id))
        elif outgoing.more:
            broker.resume(connection_id, self.clock.now_ms)

    # -- connections between brokers (links.broker_client.Wiring) ------------------------------

    def open(self, client: BrokerClient) -> int:
        """A connection id for a client; negative, so that no shell has it."""
        self._connections_made += 1
        connection_id = -self._connections_made
        self._clients[connection_id] = client
        return connection_id

    def send(self, client: BrokerClient, data: bytes) -> None:
        """Carry a client's bytes."""
        assert client.connection_id is not None
        link = self.links.get(client.source, client.target)
        link.send(partial(self._arrive, client.connection_id, client.source, client.target, data))

    def close(self, client: BrokerClient) -> None:
        """A client hangs up."""
        connection_id = client.connection_id
        if connection_id is not None:
            self._clients.pop(connection_id, None)
            link = self.links.get(client.source, client.target)
            link.send(partial(self._hang_up, connection_id, client.target))

    def restore(self, link: Link) -> None:
        """Let a link carry again; the connections that lost bytes on it are reset at both ends."""
        was_cut = link.cut
        link.restore()
        if was_cut:
            ends = {link.source, link.target}
            for connection_id, client in list(self._clients.items()):
                if {client.source, client.target} == ends:
                    self._hang_up(connection_id, client.target)
                    self._reset(connection_id)

    def break_connections(self, node_id: int) -> None:
        """A node is gone: its connections end, and the other ends hear of it."""
        for connection_id, client in list(self._clients.items()):
            if client.source == node_id:
                del self._clients[connection_id]
                link = self.links.get(node_id, client.target)
                link.send(partial(self._hang_up, connection_id, client.target))
            elif client.target == node_id:
                link = self.links.get(node_id, client.source)
                link.send(partial(self._reset, connection_id))

    def _arrive(self, connection_id: int, source: int, target: int, data: bytes) -> None:
        node = self._by_id.get(target)
        if node is None:
            self._leave(connection_id, source, target, data)
            return
        broker = node.broker
        if broker is None:
            self.links.get(target, source).send(partial(self._reset, connection_id))
            return
        now_ms = self.clock.now_ms
        if broker.connection(connection_id) is None:
            if connection_id not in self._clients:
                return
            broker.connect(
                connection_id,
                f"/broker-{source}",
                now_ms,
                local_address=("", 0),
                listener=REPLICATION_LISTENER,
            )
            self._introduce(broker, connection_id)
        broker.receive(connection_id, data, now_ms)

    def introduce_all(self) -> None:
        """What brokers are to each other is known now; some have connected before."""
        for node in self.nodes:
            if node.broker is not None:
                for conn in node.broker.connections():
                    if conn.listener == REPLICATION_LISTENER:
                        self._introduce(node.broker, conn.id)

    @staticmethod
    def _introduce(broker: Broker, connection_id: int) -> None:
        """Nobody logs in here; who is there is who would have, at the listener between brokers."""
        conn = broker.connection(connection_id)
        principal = inter_broker_principal(broker.services.config)
        if conn is not None and principal is not None:
            conn.principal = principal

    def _answer(self, connection_id: int, data: Buffer) -> None:
        client = self._clients.get(connection_id)
        if client is not None:
            try:
                client.received(data)
            except ProtocolError:  # none of ours speaks like that
                self._hang_up(connection_id, client.target)
                self._reset(connection_id)

    def _reset(self, connection_id: int) -> None:
        client = self._clients.pop(connection_id, None)
        if client is not None:
            client.lost()

    def _hang_up(self, connection_id: int, target: int) -> None:
        node = self._by_id.get(target)
        if node is None:
            if self.outside is not None:
                self.outside.close(connection_id)
        elif node.broker is not None:
            node.broker.disconnect(connection_id, self.clock.now_ms)

    # -- brokers of other processes ------------------------------------------------------------

    def _leave(self, connection_id: int, source: int, target: int, data: bytes) -> None:
        """Bytes for a broker elsewhere, to where the sender's metadata say that it listens."""
        node = self._by_id[source]
        if connection_id not in self._clients or node.broker is None:
            return
        known = node.broker.services.metadata.brokers.get(target)
        endpoints = {} if known is None else known.endpoints
        host, port = endpoints.get(LISTENER) or next(iter(endpoints.values()), NOWHERE)
        if self.outside is None or not host or not port:
            self.lost_outside(connection_id)
        else:
            self.outside.send(connection_id, host, port, data)

    def received_outside(self, connection_id: int, data: bytes) -> None:
        """The shell has bytes for the client of this connection."""
        client = self._clients.get(connection_id)
        if client is not None:
            back = self.links.get(client.target, client.source)
            back.send(partial(self._answer, connection_id, data))

    def lost_outside(self, connection_id: int) -> None:
        """The shell could not connect, or the other end hung up."""
        client = self._clients.get(connection_id)
        if client is not None:
            back = self.links.get(client.target, client.source)
            back.send(partial(self._reset, connection_id))
