"""A transactional producer on a cluster of brokers, each request on a connection of its own.

`OnCluster` asks whoever coordinates its id and leads a partition at that moment, as the controller
has it. `send_…` leave a request parked: `core.advance` lets it be answered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.coordinator.runtime import partition_for
from mockbroker.metadata.names import TRANSACTION_STATE_TOPIC
from mockbroker_protocol.messages.fetch import FetchResponse
from mockbroker_protocol.messages.produce import ProduceResponse
from mockbroker_protocol.messages.transactions import EndTxnResponse
from tests.support.transactions import Told, Transactional, fetch_request, values_in

if TYPE_CHECKING:
    from tests.support.cluster_core import ClusterCore, NodeClient


class OnCluster(Transactional):
    """One producer."""

    core: ClusterCore

    def __init__(
        self, core: ClusterCore, transactional_id: str = "tx", *, v1: bool = False
    ) -> None:
        super().__init__(core, transactional_id, v1=v1)
        self.core = core
        partitions = core.cluster.metadata.config.int("transaction.state.log.num.partitions")
        self.index = partition_for(transactional_id, partitions)
        """The partition of `__transaction_state` that has the id."""

    @property
    def coordinator(self) -> int:
        """The node that coordinates the id; -1: none."""
        return self.core.state(TRANSACTION_STATE_TOPIC, self.index).leader

    @property
    def client(self) -> NodeClient:
        topics = self.core.cluster.metadata.topics
        node = self.coordinator if TRANSACTION_STATE_TOPIC in topics else 1
        return self.core.client(node=node)

    def leader(self, topic: str, index: int) -> NodeClient:
        return self.core.client(node=self.core.state(topic, index).leader)

    def send_end(self, *, commit: bool) -> NodeClient:
        """EndTxn, with its answer to come; see `ended`."""
        client = self.client
        client.send(self.end_request(commit=commit), 4 if self.v1 else 5)
        return client

    def send_records(self, topic: str, index: int, *values: str) -> NodeClient:
        """Produce, with its answer to come; see `produced`."""
        client = self.leader(topic, index)
        sequence = self.sequences.get((topic, index), 0)
        request = self.produce_request(topic, index, self.batch(values, sequence))
        client.send(request, 11 if self.v1 else 12)
        return client


def ended(client: NodeClient) -> Told:
    """The answer of `send_end`."""
    answer = client.receive(EndTxnResponse)
    return Told(answer.error_code, answer.producer_id, answer.producer_epoch)


def produced(client: NodeClient) -> int:
    """The error in the answer of `send_records`."""
    (result,) = client.receive(ProduceResponse).responses[0].partition_responses
    return result.error_code


def read_committed(core: ClusterCore, topic: str, index: int = 0) -> list[str]:
    """What a new read_committed consumer sees of a partition at its leader."""
    client = core.client(node=core.state(topic, index).leader)
    return values_in(client.call(fetch_request(topic, index), 12, FetchResponse))
