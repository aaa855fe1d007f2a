"""A cluster of several brokers without sockets: clients of each, virtual time, links with faults.

`ClusterCore.client(node=2)` connects to one broker. A request goes through the same bytes and
verbs as over TCP; what brokers send each other arrives within the step, unless a link says
otherwise.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from mockbroker.cluster.cluster import Cluster
from mockbroker.cluster.nodes import NodeWatcher
from mockbroker_protocol.messages.produce import (
    ProduceRequest,
    ProduceRequestPartition,
    ProduceRequestTopic,
    ProduceResponse,
    ProduceResponsePartition,
)
from mockbroker_protocol.records.batch import build_batch
from mockbroker_protocol.records.record_codec import Record
from tests.support.core import EPOCH_MS, Core, CoreClient

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mockbroker.cluster.controls import ClusterControls
    from mockbroker.cluster.peers import Peers
    from mockbroker.journal import Event
    from mockbroker.metadata.changes import PartitionState
    from mockbroker.replica.partition import Partition
    from mockbroker_protocol.primitives import Buffer


class ConnectionsEnd(NodeWatcher):
    """Closes the clients of a broker that goes down."""

    __slots__ = ("_core", "_node_id")

    def __init__(self, core: ClusterCore, node_id: int) -> None:
        self._core = core
        self._node_id = node_id

    def down(self) -> None:
        self._core.node_down(self._node_id)


class ClusterCore(Core):
    """Three brokers, or as many as asked for, driven by hand.

    Idle rounds among them are skipped, as a server does when its time is moved.
    """

    skips_idle = True
    ticks = 0
    """How many deadlines were stopped at."""

    def __init__(
        self,
        *,
        brokers: int = 3,
        racks: Sequence[str | None] = (),
        topics: Mapping[str, int | None] | None = None,
        config: Mapping[str, str] | None = None,
        seed: int = 0,
    ) -> None:
        self.cluster = Cluster(
            config or {},
            topics or {},
            substream=lambda purpose: Random(f"{seed}/{purpose}"),
            epoch_ms=EPOCH_MS,
            brokers=brokers,
            racks=racks,
        )
        self.now_ms = 0.0
        self.events: list[Event] = []
        self.cluster.journal.listen(self.events.append, requests=True)
        self._clients: dict[int, CoreClient] = {}
        self._made = 0
        for node in self.cluster.nodes:
            node.watcher = ConnectionsEnd(self, node.node_id)

    @property
    def peers(self) -> Peers:
        peers = self.cluster.peers
        assert peers is not None
        return peers

    @property
    def controls(self) -> ClusterControls:
        return self.cluster.controls

    def client(
        self, client_id: str | None = "test", *, node: int = 1, listener: str = "PLAINTEXT"
    ) -> NodeClient:
        """Connect one more client to a broker."""
        self._made += 1
        client = NodeClient(self, self._made, client_id, node)
        self._clients[client.connection_id] = client
        broker = self.cluster.broker(node)
        assert broker is not None, f"broker {node} is down"
        broker.connect(
            client.connection_id,
            "/127.0.0.1",
            self.now_ms,
            local_address=("127.0.0.1", 9091 + node),
            listener=listener,
        )
        return client

    def advance(self, milliseconds: float) -> None:
        end_ms = self.now_ms + milliseconds
        while True:
            if self.skips_idle:
                self.cluster.skip_idle(end_ms)
            deadline = self.cluster.next_deadline()
            if deadline is None or deadline > end_ms:
                break
            self.ticks += 1
            self.now_ms = max(self.now_ms, deadline)
            self.cluster.tick(self.now_ms)
            self.deliver()
        self.now_ms = end_ms
        self.cluster.tick(end_ms)
        self.deliver()

    def deliver(self) -> None:
        """Let everything arrive, between brokers and at the clients."""
        again = True
        while again:
            self.cluster.drain(self.now_ms)
            again = False
            for index in range(len(self.cluster.nodes)):
                for outgoing in self.cluster.take_outbox(index):
                    client = self._clients[outgoing.connection_id]
                    client.take(b"".join(outgoing.chunks), closed=outgoing.close)
                    again = True

    def node_down(self, node_id: int) -> None:
        """The connections of a broker end."""
        for client in self._clients.values():
            if isinstance(client, NodeClient) and client.node == node_id:
                client.closed = True

    # -- what tests ask -----------------------------------------------------------------------

    def state(self, topic: str, index: int = 0) -> PartitionState:
        """What the controller has decided."""
        return self.cluster.metadata.topics[topic].partitions[index]

    def partition(self, node: int, topic: str, index: int = 0) -> Partition:
        """A replica."""
        broker = self.cluster.broker(node)
        assert broker is not None
        found = broker.services.replicas.partition(topic, index)
        assert found is not None
        return found

    def log_ends(self, topic: str, index: int = 0) -> dict[int, int]:
        """The log end of each replica that is up."""
        ends = {}
        for broker in self.cluster.brokers:
            found = broker.services.replicas.partition(topic, index)
            if found is not None:
                ends[broker.broker_id] = 0 if found.log is None else found.log.log_end_offset
        return ends

    def values(self, node: int, topic: str, index: int = 0) -> list[bytes | None]:
        """The values in a replica's log, committed or not."""
        from mockbroker_protocol.records.batch import iterate_records

        log = self.partition(node, topic, index).log
        if log is None:
            return []
        return [
            record.value
            for header, batch in log.iterate_batches(0)
            for record in iterate_records(batch, 0, header)
        ]


class NodeClient(CoreClient):
    """One connection to one broker."""

    core: ClusterCore

    def __init__(
        self, core: ClusterCore, connection_id: int, client_id: str | None, node: int
    ) -> None:
        super().__init__(core, connection_id, client_id)
        self.node = node

    def send_bytes(self, data: Buffer) -> None:
        broker = self.core.cluster.broker(self.node)
        assert broker is not None
        assert not self.closed
        broker.receive(self.connection_id, data, self.core.now_ms)
        self.core.deliver()

    def disconnect(self) -> None:
        broker = self.core.cluster.broker(self.node)
        if broker is not None:
            broker.disconnect(self.connection_id, self.core.now_ms)
        self.core.deliver()

    def produce(
        self,
        topic: str,
        *values: bytes,
        index: int = 0,
        acks: int = -1,
        timeout_ms: int = 1000,
        version: int = 9,
    ) -> None:
        """Send records; `produced` takes the answer."""
        batch = build_batch([Record(at, EPOCH_MS, None, value) for at, value in enumerate(values)])
        self.send(
            ProduceRequest(
                acks=acks,
                timeout_ms=timeout_ms,
                topic_data=[
                    ProduceRequestTopic(
                        name=topic,
                        partition_data=[ProduceRequestPartition(index=index, records=batch)],
                    )
                ],
            ),
            version,
        )

    def produced(self) -> ProduceResponsePartition:
        """The one partition of a produce's answer."""
        return self.receive(ProduceResponse).responses[0].partition_responses[0]
